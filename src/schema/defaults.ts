/**
 * Fills in the defaults of a conformed object in place: fields' own first, then those that a message derives from several fields, innermost
 * first.
 */
import { copyJson } from '../lib/json-value.ts'
import type { AnyType, MessageShape } from './types.ts'

/** Fills in `value`, which must be a private copy. Returns it, for messages that were absent. */
export function fillDefaults(type: AnyType, value: any): void {
  if (value !== undefined && value !== null) fillerOf(type)?.(value)
}

/** Whether the type has any defaults. */
export const hasDefaults = (type: AnyType): boolean => fillerOf(type) !== undefined

type Filler = (value: any) => void
const fillers = new WeakMap<AnyType, { fill: Filler | undefined }>()

/** Undefined when nothing below has a default, so that whole subtrees are skipped. */
function fillerOf(type: AnyType): Filler | undefined {
  const known = fillers.get(type)
  if (known) return known.fill
  // A recursive type finds this entry while it is being built; it then looks itself up at run time.
  const entry: { fill: Filler | undefined } = { fill: value => entry.fill?.(value) }
  fillers.set(type, entry)
  entry.fill = makeFiller(type)
  return entry.fill
}

function makeFiller({ shape }: AnyType): Filler | undefined {
  switch (shape.kind) {
    case 'scalar':
    case 'either':
      return undefined
    case 'message':
      return messageFiller(shape)
    case 'list': {
      const fill = fillerOf(shape.item)
      return fill && (list => list.forEach(fill))
    }
    case 'map': {
      const fill = fillerOf(shape.value)
      return fill && (map => Object.values(map).forEach(fill))
    }
  }
}

function messageFiller(shape: MessageShape): Filler | undefined {
  const steps: Filler[] = []
  for (const [name, [, type]] of Object.entries(shape.fields)) {
    const { default: preset } = type.flags
    const fill = fillerOf(type)
    if (preset !== undefined) {
      const copy = typeof preset === 'object' ? () => copyJson(preset) : () => preset
      steps.push(m => {
        if (m[name] === undefined || m[name] === null) m[name] = copy()
      })
    }
    if (fill)
      steps.push(m => {
        if (m[name] !== undefined && m[name] !== null) fill(m[name])
      })
  }
  if (shape.defaults) steps.push(shape.defaults)
  return steps.length === 0
    ? undefined
    : m => {
        for (const step of steps) step(m)
      }
}
