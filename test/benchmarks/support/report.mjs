import { cpus, totalmem } from 'node:os';

/** Describes the machine that the figures were measured on. */
export function machine() {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${cpu?.model.trim() ?? 'unknown CPU'}, ${memory} GiB, Node ${process.versions.node}`;
}

/** Returns the median, minimum and maximum of some runs. */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return {
    median: sorted[Math.floor(sorted.length / 2)] ?? NaN,
    min: sorted[0] ?? NaN,
    max: sorted.at(-1) ?? NaN,
  };
}

/** Formats a median with its spread: `1.23 (1.20–1.31)`. */
export function show(values, digits = 2) {
  const { median, min, max } = spread(values);
  return `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
}

/** Prints a benchmark's rows as a table, or as one line of JSON with `--json`. */
export function report(title, rows) {
  if (process.argv.includes('--json')) {
    process.stdout.write(`${JSON.stringify({ title, machine: machine(), rows })}\n`);
    return;
  }
  process.stdout.write(`\n${title}\n${machine()}\n`);
  const columns = Object.keys(rows[0] ?? {});
  const widths = columns.map((column) =>
    Math.max(column.length, ...rows.map((row) => String(row[column]).length)),
  );
  const line = (cells) =>
    `${cells.map((cell, index) => String(cell).padEnd(widths[index] ?? 0)).join('  ')}\n`;
  process.stdout.write(line(columns));
  for (const row of rows) process.stdout.write(line(columns.map((column) => row[column])));
}
