/** Pods stay some minutes on nodes that are not ready or out of reach, unless they say how long. */

import type { Toleration } from '../../kinds/rules/pod/scheduling/affinity.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import { copyJson } from '../../lib/json-value.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'

const EFFECT = 'NoExecute'

/** How many seconds pods stay. */
export type TolerationSeconds = { readonly notReady: number; readonly unreachable: number }

export function defaultTolerationSeconds({ notReady, unreachable }: TolerationSeconds): Plugin {
  const defaults = [
    { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: EFFECT, tolerationSeconds: notReady },
    { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: EFFECT, tolerationSeconds: unreachable },
  ]
  return {
    name: 'DefaultTolerationSeconds',
    plurals: ['pods'],
    mutate({ operation, resource, subresource, object }: Attributes) {
      if ((operation !== 'CREATE' && operation !== 'UPDATE') || subresource !== '') return
      if (resource.group !== '' || resource.plural !== 'pods' || !object) return
      const spec = object['spec'] as PodSpec
      const given = spec.tolerations ?? []
      const missing = defaults.filter(({ key }) => !given.some(toleration => covers(toleration, key)))
      if (missing.length > 0) spec.tolerations = [...given, ...copyJson(missing)]
    },
  }
}

const covers = ({ key, effect }: Toleration, taint: string): boolean => (!key || key === taint) && (!effect || effect === EFFECT)
