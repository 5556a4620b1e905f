"""The laboratory: a page in the browser on which a run follows every slider.

It reads and shows, and must not compute results: every figure comes from ``api`` and ``sweeps``. It
listens on the loopback address only, loads nothing from elsewhere, and answers nobody who does not
know the token of its link. NiceGUI, of the extra ``lab``, is imported by ``serve``, ``page``,
``form``, ``desk`` and ``widgets``, and only when the laboratory is opened.

    choice      what is looked at: workload, machine, strategy, settings; as link, command, YAML
    lessons     where each lesson begins
    knobs       the sliders that a workload and a machine have
    runs        a choice run, explained, with its band, as data for the page
    bench       the thread that simulates for all tabs
    guard       who may ask: the token, the loopback address
    widgets     a labelled slider, choice, field and button
    form        the left side: what can be changed
    desk        the right side: figures, pictures, causes, what was pinned
    page        both sides, put together for one tab
    serve       the server: port, link, end
    parts/      style and script of the page
"""
