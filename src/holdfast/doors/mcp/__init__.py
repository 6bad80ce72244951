"""The Model Context Protocol: tools, resources and prompts for any host, over stdio or HTTP.

Needs the package `mcp` (`pip install 'holdfast[mcp]'`); nothing else of Holdfast imports this room.
"""
