"""Drawing: what all figures share (`plots`), and the picture of one run (`gantt`)."""
