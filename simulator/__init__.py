"""The world of schedlab: jobs, machines, time and money. It knows no policy and no paper."""
