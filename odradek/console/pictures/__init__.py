"""Pictures as SVG, made here: no script draws them, and colours come from the style sheet by class. Pure."""
