"""What a report is made of (`contents`), and the static site of it (`site`)."""
