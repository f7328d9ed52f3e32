/** The conditions of `test`, `[` and `[[`. */
const NUMBERS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '-eq': (a, b) => a === b,
  '-ne': (a, b) => a !== b,
  '-lt': (a, b) => a < b,
  '-le': (a, b) => a <= b,
  '-gt': (a, b) => a > b,
  '-ge': (a, b) => a >= b,
}

/** Whether a path exists, or is a directory; undefined when that is unknown. */
type Has = (path: string, what: 'anything' | 'directory') => boolean | undefined

/** Undefined when it is not understood, or depends on unknown files. */
export function holds(words: readonly string[], has: Has): boolean | undefined {
  let negations = 0
  while (words[negations] === '!' && negations < words.length - 1) negations++
  const met = isMet(words.slice(negations), has)
  return met === undefined ? undefined : met === (negations % 2 === 0)
}

function isMet(words: readonly string[], has: Has): boolean | undefined {
  const [first = '', second = '', third = ''] = words
  if (words.length === 1) return first !== ''
  if (words.length === 2) {
    if (first === '-z' || first === '-n') return (second === '') === (first === '-z')
    if (first === '-d') return has(second, 'directory')
    return /^-[efrs]$/.test(first) ? has(second, 'anything') : undefined
  }
  if (words.length !== 3) return undefined
  if (second === '=' || second === '==') return first === third
  if (second === '!=') return first !== third
  const compare = Object.hasOwn(NUMBERS, second) ? NUMBERS[second] : undefined
  return compare && /^-?\d{1,15}$/.test(first) && /^-?\d{1,15}$/.test(third) ? compare(Number(first), Number(third)) : undefined
}
