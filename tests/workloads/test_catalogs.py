"""Catalogues: Table II as printed, the thesis's, and a user's file."""

import pandas as pd
import pytest

from simulator.files.bundled import data_path, read_table
from simulator.workloads.catalogs import catalog_names, read_catalog
from tests.errors import input_error


def test_table_two():
    catalog = read_catalog("hierarchical")
    assert [(t.name, t.gpu_type, t.gpus, t.price_per_hour) for t in catalog] == [
        ("NC6", "K80", 1, 0.56), ("NC12", "K80", 2, 1.13), ("NC24", "K80", 4, 2.25),
        ("NV6", "M60", 1, 0.62), ("NV12", "M60", 2, 1.24), ("NV24", "M60", 4, 2.48),
        ("Custom1", "Quadro P600", 2, 0.11), ("Custom2", "GTX 1080Ti", 8, 1.13),
        ("Custom3", "Quadro P600", 8, 0.44),
    ]  # fmt: skip


def test_thesis_adds_two_types():
    thesis, paper = read_catalog("thesis"), read_catalog("hierarchical")
    assert len(thesis) == 11
    assert set(paper) < set(thesis)
    assert {t.name for t in thesis} - {t.name for t in paper} == {"NC24X", "NV24X"}
    assert catalog_names() == ["hierarchical", "thesis", "figure1"]


def test_own_file(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("name,gpu_type,gpus,price_per_hour\nbig,A100,8,32.77\nsmall,T4,1,0.5\n")
    catalog = read_catalog(path)
    assert [t.name for t in catalog] == ["big", "small"]
    assert catalog[0].price_per_hour == 32.77


def test_unknown_names():
    with input_error("catalogue 'azure': not known, expected hierarchical"):
        read_catalog("azure")
    with input_error("nothing.csv: no such table, expected one of"):
        data_path("nothing.csv")


HEAD = "name,gpu_type,gpus,price_per_hour\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,gpu_type,gpus\nx,T4,1\n", "column 'price_per_hour' is missing"),
        ("name,gpu_type,gpus,price\nx,T4,1,2\n", "column 'price_per_hour' is missing"),
        (HEAD + "x,T4,1.5,2\n", "line 2: gpus is '1.5', expected a whole"),
        (HEAD + "x,T4,0,2\n", "line 2: gpus is '0'"),
        (HEAD + "x,T4,1,-2\n", "price_per_hour is '-2', expected a number"),
        (HEAD + "x,T4,1,2\nx,T4,2,3\n", "line 3: name is 'x', expected"),
        (HEAD + "x,,1,2\n", "line 2: gpu_type is empty"),
    ],
)
def test_bad_files(tmp_path, text, message):
    path = tmp_path / "mine.csv"
    path.write_text(text)
    with input_error("mine.csv", message):
        read_catalog(path)


def test_tables_belong_to_the_caller():
    table = read_table("vm_catalog.csv")
    table.loc[0, "name"] = "changed"
    assert read_table("vm_catalog.csv").loc[0, "name"] == "NC6"


def test_every_table_is_tidy_and_named_in_the_readme():
    folder = data_path("vm_catalog.csv").parent
    readme = (folder / "README.md").read_text()
    for path in folder.glob("*.csv"):
        assert path.name in readme, path.name
        assert len(pd.read_csv(path)) > 0
