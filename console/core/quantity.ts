/** Quantities of Kubernetes as numbers, and numbers as short texts. */

const FACTORS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

export function quantity(text: unknown): number {
  const [, number = '0', suffix = ''] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([A-Za-z]*)$/.exec(String(text ?? '0')) ?? []
  return Number(number) * (FACTORS[suffix] ?? 1)
}

export function short(value: number, isBinary: boolean): string {
  const [base, names] = isBinary ? [1024, ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi']] : [1000, ['', 'k', 'M', 'G', 'T', 'P']]
  let [rest, i] = [value, 0]
  while (rest >= base && i < names.length - 1) {
    rest /= base
    i++
  }
  return `${rest >= 100 || Number.isInteger(rest) ? Math.round(rest) : rest.toFixed(rest < 10 ? 2 : 1).replace(/\.?0+$/, '')}${names[i]}`
}
