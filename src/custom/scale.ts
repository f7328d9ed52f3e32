/** The scale subresource of custom objects, at the field paths that their definition names. */
import type { DefinitionSubresources } from '../kinds/apiextensions/definition-shapes.ts'
import type { JsonObject } from '../lib/json-value.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import { type FieldError, invalid, refTo } from '../schema/refs.ts'
import type { ScaleSubresource } from '../schema/subresources.ts'
import { integerAt, setAt, stepsOf, textAt } from './field-path.ts'

type Scale = NonNullable<DefinitionSubresources['scale']>

const MAX_REPLICAS = 2 ** 31 - 1

export function scaleSubresource({ specReplicasPath, statusReplicasPath, labelSelectorPath = '' }: Scale): ScaleSubresource<AnyObject> {
  const [wanted, observed, selector] = [specReplicasPath, statusReplicasPath, labelSelectorPath].map(stepsOf) as [
    string[],
    string[],
    string[],
  ]
  const sizeAt = (o: AnyObject, steps: readonly string[]) => {
    const { value } = integerAt(contentOf(o), steps)
    return value === undefined ? undefined : Number(BigInt.asIntN(32, BigInt(value)))
  }
  return {
    path: wanted.join('.'),
    replicas: o => sizeAt(o, wanted),
    setReplicas: (o, replicas) => setAt(contentOf(o), wanted, replicas),
    observed: o => sizeAt(o, observed) ?? 0,
    selector: o => (labelSelectorPath === '' ? '' : (textAt(contentOf(o), selector).value ?? '')),
  }
}

/** The errors of the wanted size of an object. */
export function* checkWanted({ specReplicasPath }: Scale, object: AnyObject): Iterable<FieldError> {
  yield* checkSize(specReplicasPath, object)
}

/** The errors of the observed size of an object and of its selector. */
export function* checkObserved({ statusReplicasPath, labelSelectorPath }: Scale, object: AnyObject): Iterable<FieldError> {
  yield* checkSize(statusReplicasPath, object)
  if (labelSelectorPath === undefined) return
  const { fault } = textAt(contentOf(object), stepsOf(labelSelectorPath))
  if (fault !== undefined) yield invalid(refTo('', labelSelectorPath), fault)
}

function* checkSize(path: string, object: AnyObject): Iterable<FieldError> {
  const { value = 0, fault } = integerAt(contentOf(object), stepsOf(path))
  const at = refTo(value, path)
  if (fault !== undefined) yield invalid(at, fault)
  else if (value < 0) yield invalid(at, 'should be a non-negative integer')
  else if (value > MAX_REPLICAS) yield invalid(at, `should be less than or equal to ${MAX_REPLICAS}`)
}

const contentOf = (object: AnyObject) => object as unknown as JsonObject
