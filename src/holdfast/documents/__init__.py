"""Static documents: finding files, reading them, and cutting them into parts by their structure."""
