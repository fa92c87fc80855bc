"""The run folder: its layout, its record, its inputs and corrections; reading a finished run."""
