"""What a cluster may have beside machines and jobs; one module each."""
