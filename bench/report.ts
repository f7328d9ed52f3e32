/** The figures as a table and a chart, written into bench/README.md between its markers. */
import { readFileSync, writeFileSync } from 'node:fs'

export type Row = {
  readonly name: string
  readonly ours: string
  readonly ceiling: string
  /** Ours as a share of the ceiling. */
  readonly share?: number
  readonly target?: number
  readonly note?: string
}

export const rate = (perSecond: number, unit = '') => `${Math.round(perSecond).toLocaleString('en-US')}/s${unit}`

export function table(rows: readonly Row[]): string {
  const lines = rows.map(({ name, ours, ceiling, share, target, note }) => {
    const part = share === undefined ? '' : `${Math.round(share * 100)} %`
    const aim = target === undefined ? '' : `≥ ${Math.round(target * 100)} %${share !== undefined && share < target ? ' ✗' : ''}`
    return `| ${name} | ${ours} | ${ceiling} | ${part} | ${aim} | ${note ?? ''} |`
  })
  return ['| what | Keelson | ceiling | share | target | ceiling is |', '|---|--:|--:|--:|--:|---|', ...lines].join('\n')
}

/** Bars of our share of each ceiling, with a tick where the target is. */
export function chart(rows: readonly Row[]): string {
  const bars = rows.filter(row => row.share !== undefined)
  const [left, width, step] = [220, 420, 30]
  const body = bars.map(({ name, share, target }, i) => {
    const y = 30 + i * step
    const length = Math.min(share!, 1.2) * (width / 1.2)
    const tick =
      target === undefined
        ? ''
        : `<line x1="${left + (target * width) / 1.2}" x2="${left + (target * width) / 1.2}" y1="${y - 2}" y2="${y + 18}" stroke="#c0392b" stroke-width="2"/>`
    return `<text x="${left - 8}" y="${y + 12}" text-anchor="end">${xml(name)}</text><rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="16" fill="#2a6f97"/>${tick}<text x="${(left + length + 6).toFixed(1)}" y="${y + 12}">${Math.round(share! * 100)} %</text>`
  })
  const height = 50 + bars.length * step
  return `<svg xmlns="http://www.w3.org/2000/svg" width="720" height="${height}" viewBox="0 0 720 ${height}" font-family="sans-serif" font-size="12" fill="#333"><title>Keelson's share of each ceiling</title><rect width="720" height="${height}" fill="white"/><text x="${left}" y="18" font-weight="bold">share of the ceiling measured in the same run (red: target)</text>${body.join('')}</svg>\n`
}

const xml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** Replaces the text between the markers of the page. */
export function writeInto(file: string, text: string): void {
  const page = readFileSync(file, 'utf8')
  const [start, end] = ['<!-- figures -->', '<!-- /figures -->']
  writeFileSync(file, `${page.slice(0, page.indexOf(start) + start.length)}\n${text}\n${page.slice(page.indexOf(end))}`)
}
