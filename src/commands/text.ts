/** Sizes and tables in the output of commands. */

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const

/** `812 bytes`, `1.5 MiB`. */
export function sizeText(bytes: number): string {
  let [size, unit] = [bytes, 0]
  while (size >= 1024 && unit < UNITS.length - 1) {
    size /= 1024
    unit++
  }
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${UNITS[unit]}`
}

/** Lines of columns; those with these numbers stand to the right. */
export function tableText(rows: readonly (readonly string[])[], toTheRight: readonly number[] = []): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const cell = (text: string, column: number) =>
    toTheRight.includes(column) ? text.padStart(widths[column]!) : text.padEnd(widths[column]!)
  return rows.map(row => `${row.map(cell).join('  ').trimEnd()}\n`).join('')
}
