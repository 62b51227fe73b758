"""Types that plugins and the kernel share."""
