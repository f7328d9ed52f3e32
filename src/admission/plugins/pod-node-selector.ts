/** PodNodeSelector: pods run on the nodes that their namespace, or the cluster, selects for them. */
import { setOwn } from '../../lib/json-value.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { notFound, StatusError } from '../../schema/status-error.ts'
import { mapOf, message, string } from '../../schema/types.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import { pluginConfiguration } from '../plugin-configuration.ts'
import { forbidden, podSpecOf } from '../refusal.ts'

const ANNOTATION = 'scheduler.alpha.kubernetes.io/node-selector'
const CLUSTER_DEFAULT = 'clusterDefaultNodeSelector'

type Labels = Readonly<Record<string, string>>

export type PodNodeSelectorParts = {
  readonly namespace: (name: string) => AnyObject | undefined
  /** From the configuration file: the selector of namespaces without one, and the labels that pods of a namespace may select. */
  readonly selectors?: Labels | undefined
}

export const POD_NODE_SELECTOR_CONFIGURATION = pluginConfiguration({
  plugin: 'PodNodeSelector',
  type: message('pluginConfig', { podNodeSelectorPluginConfig: [1, mapOf(string)] }),
  settings: ({ podNodeSelectorPluginConfig = {} }): Labels => podNodeSelectorPluginConfig,
})

export function podNodeSelector({ namespace: find, selectors = {} }: PodNodeSelectorParts): Plugin {
  const selectorOf = ({ namespace }: Attributes): Labels => {
    const found = find(namespace)
    if (!found) throw notFound({ group: '', plural: 'namespaces', kind: 'Namespace' }, namespace)
    const { annotations = {} } = found.metadata
    return parseLabels(Object.hasOwn(annotations, ANNOTATION) ? annotations[ANNOTATION]! : ownText(selectors, CLUSTER_DEFAULT))
  }
  const check = (attributes: Attributes, wanted: Labels, selector: Labels) => {
    if (conflicts(selector, wanted)) throw forbidden(attributes, 'pod node label selector conflicts with its namespace node label selector')
    const allowed = parseLabels(ownText(selectors, attributes.namespace))
    if (
      Object.keys(allowed).length > 0 &&
      Object.entries(wanted).some(([key, value]) => !Object.hasOwn(allowed, key) || allowed[key] !== value)
    )
      throw forbidden(attributes, 'pod node label selector labels conflict with its namespace whitelist')
  }
  return {
    name: 'PodNodeSelector',
    mutate(attributes) {
      const spec = attributes.operation === 'CREATE' ? podSpecOf(attributes) : undefined
      if (!spec) return
      const selector = selectorOf(attributes)
      if (!conflicts(selector, spec.nodeSelector ?? {})) {
        const merged: Record<string, string> = { ...selector }
        for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) setOwn(merged, key, value)
        if (Object.keys(merged).length > 0) spec.nodeSelector = merged
      }
      check(attributes, spec.nodeSelector ?? {}, selector)
    },
    validate(attributes) {
      const spec = attributes.operation === 'CREATE' ? podSpecOf(attributes) : undefined
      if (spec) check(attributes, spec.nodeSelector ?? {}, selectorOf(attributes))
    },
  }
}

const ownText = (selectors: Labels, name: string): string => (Object.hasOwn(selectors, name) ? selectors[name]! : '')

const conflicts = (a: Labels, b: Labels): boolean => Object.entries(a).some(([key, value]) => Object.hasOwn(b, key) && b[key] !== value)

/** Reads `a=b,c=d`. */
function parseLabels(text: string): Labels {
  const labels: Record<string, string> = {}
  if (text.trim() === '') return labels
  for (const part of text.split(',')) {
    const [key, value, ...more] = part.split('=')
    if (value === undefined || more.length > 0) throw new StatusError(500, '', `invalid selector: [${part}]`)
    setOwn(labels, key!.trim(), value.trim())
  }
  return labels
}
