/** Drives plugins as the registry does, for tests of plugins. */

import type { Attributes, Plugin } from '../../src/admission/plugin.ts'
import type { Reader } from '../../src/admission/reader.ts'
import type { Kind } from '../../src/schema/kind.ts'
import type { AnyObject } from '../../src/schema/object-meta.ts'
import { resourceOf } from '../../src/schema/resource.ts'
import { StatusError } from '../../src/schema/status-error.ts'
import { contextWith, type Draft, withDefaults } from './kinds/kinds.ts'

/** A reader of these objects, by the plural of their kind. */
export function readerOf(objects: Readonly<Record<string, readonly AnyObject[]>>): Reader {
  const list: Reader['list'] = ({ plural }) => objects[plural] ?? []
  return { list, get: (resource, name) => list(resource).find(({ metadata }) => metadata.name === name) }
}

export type Step = { readonly old?: Draft; readonly subresource?: string; readonly step?: 'mutate' | 'validate' }

/** The object after a plugin has seen it, or what the plugin refused it with. */
export function admitted(plugin: Plugin, kind: Kind<any>, draft: Draft, { old, subresource = '', step = 'mutate' }: Step = {}): any {
  const object = withDefaults(kind, draft)
  const attributes: Attributes = {
    operation: old ? 'UPDATE' : 'CREATE',
    resource: resourceOf(kind, 'k8s.io'),
    subresource,
    namespace: object.metadata.namespace ?? '',
    name: object.metadata.name,
    object,
    old: old && withDefaults(kind, old),
    dryRun: false,
    ctx: contextWith(),
  }
  try {
    plugin[step]?.(attributes)
    return object
  } catch (error) {
    if (error instanceof StatusError) return `${error.code} ${error.message}`
    throw error
  }
}
