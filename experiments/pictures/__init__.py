"""Drawing: what all figures share (`plots`), the pictures of one run (`gantt`) and of a file of jobs (`jobs`)."""
