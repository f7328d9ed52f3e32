/** New nodes are tainted as not ready, so that no pod is placed on them before they say that they are. */
import type { Taint } from '../../kinds/rules/taints.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'

const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' } as const

export const taintNodesByCondition: Plugin = {
  name: 'TaintNodesByCondition',
  plurals: ['nodes'],
  mutate({ operation, resource, subresource, object }: Attributes) {
    if (operation !== 'CREATE' || subresource !== '' || resource.group !== '' || resource.plural !== 'nodes' || !object) return
    const spec = object['spec'] as { taints?: Taint[] }
    const has = spec.taints?.some(({ key, effect }) => key === NOT_READY.key && effect === NOT_READY.effect)
    if (!has) spec.taints = [...(spec.taints ?? []), { ...NOT_READY }]
  },
}
