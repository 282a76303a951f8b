"""When a job will start: an interval from a log's own past, with its measured coverage."""
