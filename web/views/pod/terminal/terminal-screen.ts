// Draws the screen that a terminal keeps, as text.
import type { IBufferCell, IBufferLine, Terminal } from "@xterm/headless";

const sampleLength = 20;

export class TerminalScreen {
  /** Has the focus, and gets what is typed. */
  readonly input: HTMLTextAreaElement;
  readonly #terminal: Terminal;
  readonly #rows: HTMLElement;
  #isDrawing = false;

  constructor(terminal: Terminal, element: HTMLElement) {
    this.#terminal = terminal;
    this.#rows = document.createElement("div");
    this.#rows.className = "terminal-rows";
    this.input = document.createElement("textarea");
    this.input.className = "terminal-input";
    this.input.setAttribute("aria-label", "Terminal. Control and Tab lead out of it.");
    this.input.autocapitalize = "off";
    this.input.spellcheck = false;
    element.append(this.#rows, this.input);
    element.addEventListener("mouseup", () => {
      // Text may be selected to be copied.
      if (getSelection()?.isCollapsed !== false) this.input.focus({ preventScroll: true });
    });
    element.addEventListener(
      "wheel",
      (event) => {
        terminal.scrollLines(Math.sign(event.deltaY) * 3);
        this.redraw();
        event.preventDefault();
      },
      { passive: false },
    );
  }

  /** As many columns and rows as there is room for. */
  fit(): void {
    const sample = document.createElement("span");
    sample.textContent = "W".repeat(sampleLength);
    const row = document.createElement("div");
    row.className = "terminal-row";
    row.append(sample);
    this.#rows.append(row);
    const width = sample.getBoundingClientRect().width / sampleLength;
    const { height } = row.getBoundingClientRect();
    row.remove();
    const { clientWidth, clientHeight } = this.#rows;
    if (width === 0 || height === 0 || clientWidth === 0) return;
    const columns = Math.max(Math.floor(clientWidth / width), 2);
    const rows = Math.max(Math.floor(clientHeight / height), 2);
    this.#terminal.resize(Math.min(columns, 500), Math.min(rows, 200));
    this.redraw();
  }

  /** Soon, and once for all that came until then. */
  redraw(): void {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      this.#draw();
    });
  }

  remove(): void {
    this.#rows.remove();
    this.input.remove();
  }

  #draw(): void {
    const { rows } = this.#terminal;
    const { active } = this.#terminal.buffer;
    const cursorRow = active.baseY + active.cursorY - active.viewportY;
    const drawn: HTMLElement[] = [];
    for (let row = 0; row < rows; row++) {
      const line = active.getLine(active.viewportY + row);
      const cursor = row === cursorRow ? active.cursorX : undefined;
      drawn.push(drawLine(line, this.#terminal.cols, cursor));
    }
    this.#rows.replaceChildren(...drawn);
  }
}

function drawLine(
  line: IBufferLine | undefined,
  columns: number,
  cursor: number | undefined,
): HTMLElement {
  const row = document.createElement("div");
  row.className = "terminal-row";
  let last: { readonly style: string; readonly span: HTMLElement } | undefined;
  for (let column = 0; column < columns; column++) {
    const cell = line?.getCell(column);
    // The second half of a wide character.
    if (cell?.getWidth() === 0) continue;
    const isWide = cell?.getWidth() === 2;
    const style = `${cell === undefined ? "" : classesOf(cell)}${cursor === column ? " cursor" : ""}${isWide ? " wide" : ""}`;
    const text = cell?.getChars() || " ";
    if (last?.style === style && !isWide) {
      last.span.textContent += text;
      continue;
    }
    const span = document.createElement("span");
    span.className = style;
    span.textContent = text;
    if (cell !== undefined) paint(span, cell);
    row.append(span);
    last = { style, span };
  }
  return row;
}

/** All that two cells of one look have in common. */
function classesOf(cell: IBufferCell): string {
  const look = [
    cell.isBold() && "bold",
    cell.isDim() && "dim",
    cell.isItalic() && "italic",
    cell.isUnderline() && "underline",
    cell.isInverse() && "inverse",
    cell.isInvisible() && "invisible",
    !cell.isFgDefault() && `f${cell.isFgRGB() ? "x" : ""}${cell.getFgColor()}`,
    !cell.isBgDefault() && `b${cell.isBgRGB() ? "x" : ""}${cell.getBgColor()}`,
  ];
  return look.filter((each) => each !== false).join(" ");
}

const normal = [
  "#4b5263",
  "#f2877d",
  "#6cc68d",
  "#e0b252",
  "#7fb0f5",
  "#d59ae8",
  "#66c5cc",
  "#dfe3ea",
];
const bright = [
  "#7a8394",
  "#ff9f96",
  "#8fe0ab",
  "#f5cd78",
  "#a5c9ff",
  "#e6b8f5",
  "#8fe0e6",
  "#ffffff",
];
const colours: readonly string[] = [...normal, ...bright];

function paint(span: HTMLElement, cell: IBufferCell): void {
  const front = cell.isFgDefault() ? undefined : colourOf(cell.getFgColor(), cell.isFgRGB());
  const back = cell.isBgDefault() ? undefined : colourOf(cell.getBgColor(), cell.isBgRGB());
  const isInverse = cell.isInverse() !== 0;
  const [ink, paper] = isInverse ? [back ?? "#101216", front ?? "#dfe3ea"] : [front, back];
  if (ink !== undefined) span.style.color = ink;
  if (paper !== undefined) span.style.backgroundColor = paper;
}

/** Of a palette of 256, or itself. */
function colourOf(colour: number, isRgb: boolean): string {
  if (isRgb) return `#${colour.toString(16).padStart(6, "0")}`;
  const known = colours[colour];
  if (known !== undefined) return known;
  if (colour >= 232) return grey(8 + (colour - 232) * 10);
  const cube = colour - 16;
  const level = (step: number): number => (step === 0 ? 0 : 55 + step * 40);
  return `rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6) % 6)} ${level(cube % 6)})`;
}

function grey(level: number): string {
  return `rgb(${level} ${level} ${level})`;
}
