/** Drives admission plugins as the registry does, for tests of plugins. */

import type { Attributes } from '../../src/admission/attributes.ts'
import type { Plugin } from '../../src/admission/plugin.ts'
import type { Reader } from '../../src/admission/reader.ts'
import { Reinvocation } from '../../src/admission/reinvocation.ts'
import { Pace } from '../../src/lib/pace.ts'
import { finish, run, type Step as Work, waitFor } from '../../src/lib/step.ts'
import type { Kind } from '../../src/schema/kind.ts'
import type { AnyObject } from '../../src/schema/object-meta.ts'
import { type Resource, resourceOf } from '../../src/schema/resource.ts'
import { StatusError } from '../../src/schema/status-error.ts'
import { contextWith, type Draft, withDefaults } from './kinds/kinds.ts'

/** A reader of these objects, by the plural of their kind. */
export function readerOf(objects: Readonly<Record<string, readonly AnyObject[]>>): Reader {
  const list: Reader['list'] = ({ plural }) => objects[plural] ?? []
  return { list, get: (resource, name) => list(resource).find(({ metadata }) => metadata.name === name) }
}

/** The attributes of a create, with overrides. */
export function attributesOf(resource: Resource, object: AnyObject, more: Partial<Attributes> = {}): Attributes {
  return {
    operation: 'CREATE',
    resource,
    kind: resource,
    subresource: '',
    namespace: '',
    name: '',
    verb: 'create',
    requestName: '',
    object,
    oldObject: undefined,
    options: {},
    dryRun: false,
    ctx: contextWith(),
    signal: new AbortController().signal,
    remainingMs: undefined,
    decode: document => waitFor(document as unknown as AnyObject),
    convert: each => waitFor(each),
    warn() {},
    annotate() {},
    needs() {},
    onEnd() {},
    ...more,
  }
}

/** Does the work of a plugin. */
export const drive = async (work: Work<void> | void): Promise<void> => (work ? run(work, new Pace()) : undefined)

export type Step = { readonly old?: Draft; readonly subresource?: string; readonly step?: 'mutate' | 'validate' }

/** The object after a plugin has run, or the error with which the plugin refused it. */
export function admitted(plugin: Plugin, kind: Kind<any>, draft: Draft, { old, subresource = '', step = 'mutate' }: Step = {}): any {
  const object = withDefaults(kind, draft)
  const attributes = attributesOf(resourceOf(kind, 'k8s.io'), object, {
    operation: old ? 'UPDATE' : 'CREATE',
    subresource,
    namespace: object.metadata.namespace ?? '',
    name: object.metadata.name,
    oldObject: old && withDefaults(kind, old),
  })
  try {
    const work = step === 'mutate' ? plugin.mutate?.(attributes, new Reinvocation()) : plugin.validate?.(attributes)
    if (work) finish(work)
    return object
  } catch (error) {
    if (error instanceof StatusError) return `${error.code} ${error.message}`
    throw error
  }
}
