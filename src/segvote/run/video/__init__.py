"""What a run folder holds of videos: bags, label maps and masks of their frames."""
