"""Text, tables, shapes and styles of the HTML page. It must not know what a verdict is."""
