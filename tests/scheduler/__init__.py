"""Tests of the scheduler: the queue by itself, and what runs concurrently."""
