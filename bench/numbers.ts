/** Figures of many rounds as one, and figures as texts. */

export const median = (numbers: readonly number[]) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!

export const count = (number: number) => Math.round(number).toLocaleString('en-US')
export const rate = (perSecond: number) => `${count(perSecond)}/s`
export const micros = (number: number) => `${count(number)} µs`
export const percent = (part: number, whole: number) => `${Math.round((part / whole) * 100)} %`

/** Figures are kept to three digits: further ones are noise. */
export function rounded<T>(figures: T): T {
  if (typeof figures === 'number') return Number(figures.toPrecision(3)) as T
  if (Array.isArray(figures)) return figures.map(rounded) as T
  if (figures === null || typeof figures !== 'object') return figures
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, rounded(value)])) as T
}
