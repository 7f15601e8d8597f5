import { at, lookup } from "../at";
import { type Cell, copy, download, toCsv, toTabs } from "../csv";
import { button, el } from "../dom";

/** One column: what is sorted and exported (`value`) and what is drawn. */
export interface Column<Row> {
  readonly title: string;
  readonly unit?: string;
  readonly hint?: string;
  readonly numeric?: boolean;
  value(row: Row): Cell;
  /** what is sorted by, where that is not the value */
  sort?(row: Row): Cell;
  /** what stands in the cell; the value as text where not given */
  draw?(row: Row): Node | string;
  /** drawn only: not among what is copied and exported */
  readonly picture?: boolean;
  /** further columns for the copy and the file, where one cell shows several numbers */
  readonly also?: readonly { readonly title: string; value(row: Row): Cell }[];
}

export interface TableOptions<Row> {
  readonly name: string;
  readonly file: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  pressed(row: Row): void;
  /** on a narrow screen it is shown whole, without its pictures */
  readonly narrow?: boolean;
}

/** A table that can be sorted, copied and saved; rows are selected by click or key. */
export class DataTable<Row> {
  readonly element: HTMLElement;
  private readonly body = el("tbody");
  private readonly lines = new Map<Row, HTMLTableRowElement>();
  private readonly headers: HTMLTableCellElement[] = [];
  private sorted: { column: number; down: boolean } | null = null;

  constructor(private readonly options: TableOptions<Row>) {
    const { name, rows, columns } = options;
    const tools = el("div", { class: "tools" });
    const copied = button("Copy", `Copy ${name} as a table`, () => {
      void copy(toTabs(this.cells())).then((done) => {
        copied.textContent = done ? "Copied" : "Not allowed";
        setTimeout(() => (copied.textContent = "Copy"), 1500);
      });
    });
    const save = button(
      "CSV",
      `Save ${name} as a CSV file`,
      () => download(`${options.file}.csv`, toCsv(this.cells())),
      {
        class: "csv",
      },
    );
    tools.append(copied, save);
    const head = el("tr");
    columns.forEach((column, c) => {
      const label = button("", column.hint ?? `Sort by ${column.title}`, () => this.sort(c), { class: "sort" });
      label.append(el("span", { text: column.title }));
      if (column.unit) label.append(el("span", { class: "unit", text: ` ${column.unit}` }));
      const kind = column.picture ? "picture" : column.numeric ? "numeric" : "";
      const header = el("th", { scope: "col", class: kind }, label);
      this.headers.push(header);
      head.append(header);
    });
    for (const row of rows) this.lines.set(row, this.line(row));
    this.body.append(...this.lines.values());
    const table = el("table", {}, el("caption", { class: "off-screen", text: name }), el("thead", {}, head), this.body);
    this.element = el(
      "section",
      { class: options.narrow ? "data-table narrow" : "data-table", "data-file": options.file },
      el("header", {}, el("h3", { text: name }), el("span", { class: "quiet", text: String(rows.length) }), tools),
      el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name }, table),
    );
  }

  /** Marks the rows that belong to the selection. */
  mark(is: (row: Row) => boolean): void {
    for (const [row, line] of this.lines) line.setAttribute("aria-selected", String(is(row)));
  }

  /** What is copied and saved: a row of titles, then the rows as they are sorted now. */
  cells(): Cell[][] {
    const columns = this.options.columns.filter((column) => !column.picture);
    const flat = columns.flatMap((column) => [
      {
        title: column.unit ? `${column.title} [${column.unit}]` : column.title,
        value: (row: Row) => column.value(row),
      },
      ...(column.also ?? []),
    ]);
    return [flat.map(({ title }) => title), ...this.order().map((row) => flat.map(({ value }) => value(row)))];
  }

  private sort(column: number): void {
    const before = this.sorted;
    const first = at(this.options.columns, column).numeric ?? false;
    this.sorted =
      before?.column === column ? (before.down === first ? { column, down: !first } : null) : { column, down: first };
    this.headers.forEach((header, c) => {
      if (this.sorted?.column === c) header.setAttribute("aria-sort", this.sorted.down ? "descending" : "ascending");
      else header.removeAttribute("aria-sort");
    });
    this.body.replaceChildren(...this.order().map((row) => lookup(this.lines, row)));
  }

  private order(): readonly Row[] {
    const { rows, columns } = this.options;
    if (this.sorted === null) return rows;
    const { down } = this.sorted;
    const column = at(columns, this.sorted.column);
    const key = column.sort ?? column.value;
    return [...rows].sort((a, b) => compare(key(a), key(b), down));
  }

  private line(row: Row): HTMLTableRowElement {
    const line = el("tr", { tabindex: "0" });
    this.options.columns.forEach((column, c) => {
      const drawn = column.draw ? column.draw(row) : String(column.value(row) ?? "");
      const cell = el(
        c === 0 ? "th" : "td",
        { class: column.numeric ? "numeric" : column.picture ? "picture" : "" },
        drawn,
      );
      if (c === 0) cell.setAttribute("scope", "row");
      line.append(cell);
    });
    line.addEventListener("click", () => this.options.pressed(row));
    line.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      this.options.pressed(row);
    });
    return line;
  }
}

/** Order of two cells; empty ones last whichever way. */
export function compare(a: Cell, b: Cell, down: boolean): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  const way = down ? -1 : 1;
  if (typeof a === "number" && typeof b === "number") return way * (a - b);
  return way * String(a).localeCompare(String(b), undefined, { numeric: true });
}
