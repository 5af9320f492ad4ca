"""The scheduler: the queue by itself, and what runs side by side."""
