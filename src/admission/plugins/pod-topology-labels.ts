/** PodTopologyLabels: pods carry the zone and region of the node that they are bound to. */
import { setOwn } from '../../lib/json-value.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Plugin } from '../plugin.ts'
import type { Reader } from '../reader.ts'

const LABELS = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region']
const NODES = { group: '', version: 'v1', plural: 'nodes' }

export const podTopologyLabels = (reader: Reader): Plugin => ({
  name: 'PodTopologyLabels',
  plurals: ['pods'],
  mutate({ operation, resource, subresource, object, ctx }) {
    if (operation !== 'CREATE' || resource.group !== '' || resource.plural !== 'pods' || !object) return
    if (!ctx.gate('PodTopologyLabelsAdmission')) return
    const node = subresource === '' ? object['spec']?.nodeName : subresource === 'binding' ? boundNode(object) : undefined
    const labels = node ? (reader.get(NODES, node)?.metadata.labels ?? {}) : {}
    for (const label of LABELS) if (Object.hasOwn(labels, label)) setOwn((object.metadata.labels ??= {}), label, labels[label]!)
  },
})

const boundNode = ({ target }: AnyObject): string | undefined => (target?.kind === 'Node' ? target.name : undefined)
