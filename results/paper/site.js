"use strict";

// Tables marked data-sortable sort by the column whose heading is clicked: numbers as numbers,
// empty cells last, a second click the other way round. Of data-sortable="groups" each tbody moves as a whole.

function cellKey(row, column) {
  const cell = row.cells[column];
  return (cell.dataset.sort ?? cell.textContent).trim();
}

function compare(a, b) {
  const x = Number(a), y = Number(b);
  if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
  return a.localeCompare(b, "en", { numeric: true });
}

function sortBy(table, heading) {
  const direction = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
  const column = heading.cellIndex;
  const grouped = table.dataset.sortable === "groups";
  const parts = grouped ? [...table.tBodies] : [...table.tBodies[0].rows];
  const keyed = parts.map((part) => [cellKey(grouped ? part.rows[0] : part, column), part]);
  keyed.sort(([a], [b]) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    return direction * compare(a, b);
  });
  (grouped ? table : table.tBodies[0]).append(...keyed.map(([, part]) => part));
}

document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    for (const heading of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => sortBy(table, heading));
    }
  }
});
