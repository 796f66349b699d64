// A group of buttons that is one stop of the Tab key: the arrow keys move inside.

const STEPS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

/** Handles a key in a toolbar whose buttons have `data-row` and `data-column`. */
export function onToolbarKey(event) {
  const step = STEPS[event.key];
  const ends = { Home: -1, End: 1 }[event.key];
  if ((!step && !ends) || event.altKey || event.ctrlKey || event.metaKey) return;
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  const here = event.target.closest("button");
  const target = ends
    ? buttons.at(ends === 1 ? -1 : 0)
    : nearest(buttons, Number(here.dataset.row) + step[1], Number(here.dataset.column) + step[0], step);
  event.preventDefault();
  if (!target || target === here) return;
  for (const button of buttons) button.tabIndex = button === target ? 0 : -1;
  target.focus();
}

/** The button in this row and column; moving along a column, the nearest one of the row. */
function nearest(buttons, row, column, [across]) {
  const inRow = buttons.filter((button) => Number(button.dataset.row) === row);
  const there = inRow.find((button) => Number(button.dataset.column) === column);
  return there ?? (across === 0 ? inRow[0] : undefined);
}
