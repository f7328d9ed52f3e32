/** Rules and warnings of custom objects: their schema, CEL rules, scale and finalizers. */

import type { DefinitionSubresources } from '../kinds/apiextensions/definition-shapes.ts'
import { goQuote } from '../lib/go-text.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { isQualifiedName } from '../lib/names.ts'
import { isStandardOrQualified } from '../schema/meta-rules.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Rule } from '../schema/rules.ts'
import { validateObject } from '../structural/custom-object.ts'
import { checkObserved, checkWanted } from './scale.ts'
import type { VersionSchema } from './version-schema.ts'

type Parameters = { readonly schema: VersionSchema; readonly scale: DefinitionSubresources['scale'] | undefined }

/** Rules on a whole object, or on one of which only the status was written. */
export function objectRules({ schema, scale }: Parameters, subresource?: 'status'): Rule<AnyObject> {
  return (object, _, { old, budget, isLarge }, found) => {
    const wanted = scale && subresource === undefined ? [...checkWanted(scale, object)] : []
    const also = scale ? [...wanted, ...checkObserved(scale, object)] : []
    return validateObject(schema.structural, contentOf(object), { budget, found, old: old && contentOf(old), also, subresource, isLarge })
  }
}

/** Warns of finalizers without a domain, which may conflict with those of others. */
export function* finalizerWarnings({ metadata: { finalizers = [] } }: AnyObject, old: AnyObject | undefined): Iterable<string> {
  const known = new Set(old?.metadata.finalizers)
  const added = new Set(finalizers.filter(name => !known.has(name)))
  for (const name of [...added].sort()) {
    const about = `metadata.finalizers: ${goQuote(name)}: `
    for (const fault of isQualifiedName(name)) yield about + fault
    if (isStandardOrQualified(name)) continue
    const form = name.includes('.') ? 'a domain-qualified finalizer name including a path (/)' : 'a domain-qualified finalizer name'
    yield `${about}prefer ${form} to avoid accidental conflicts with other finalizer writers`
  }
}

const contentOf = (object: AnyObject) => object as unknown as JsonObject
