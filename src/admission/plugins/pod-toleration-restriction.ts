/** PodTolerationRestriction: pods get the default tolerations of their namespace and may have only those that it allows. */
import { JsonError, parseJson } from '../../codec/json.ts'
import { qosClassOf } from '../../kinds/rules/pod/resources/qos.ts'
import { Toleration } from '../../kinds/rules/pod/scheduling/affinity.ts'
import { validateTolerations } from '../../kinds/rules/pod/scheduling/toleration-rules.ts'
import { copyJson, jsonTypeName } from '../../lib/json-value.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { refTo } from '../../schema/refs.ts'
import { notFound, StatusError } from '../../schema/status-error.ts'
import { atomic, message } from '../../schema/types.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import { pluginConfiguration } from '../plugin-configuration.ts'
import { podSpecOf } from '../refusal.ts'
import { covers, mergeTolerations } from './tolerations.ts'

const DEFAULTS = 'scheduler.alpha.kubernetes.io/defaultTolerations'
const ALLOWED = 'scheduler.alpha.kubernetes.io/tolerationsWhitelist'
const MEMORY_PRESSURE: Toleration = { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' }

export type PodTolerationRestrictionParts = {
  readonly namespace: (name: string) => AnyObject | undefined
  /** From the configuration file, for namespaces that say nothing. */
  readonly cluster?: { readonly default?: readonly Toleration[]; readonly whitelist?: readonly Toleration[] } | undefined
}

export const POD_TOLERATION_RESTRICTION_CONFIGURATION = pluginConfiguration({
  plugin: 'PodTolerationRestriction',
  accepts: { 'podtolerationrestriction.admission.{group_domain}/v1alpha1': 'Configuration' },
  type: message('Configuration', { default: [1, atomic(Toleration)], whitelist: [2, atomic(Toleration)] }),
  *validate(configuration) {
    const at = refTo(configuration, 'podtolerationrestriction')
    for (const list of ['default', 'whitelist'] as const)
      yield* validateTolerations(configuration[list], at[list], { numericTolerations: false })
  },
  settings: configuration => configuration,
})

export function podTolerationRestriction({ namespace: find, cluster = {} }: PodTolerationRestrictionParts): Plugin {
  const ofNamespace = ({ namespace }: Attributes, annotation: string): readonly Toleration[] | undefined => {
    const found = find(namespace)
    if (!found) throw notFound({ group: '', plural: 'namespaces', kind: 'Namespace' }, namespace)
    return parseTolerations(found, annotation)
  }
  const check = (attributes: Attributes, tolerations: readonly Toleration[]) => {
    if (tolerations.length === 0) return
    const own = ofNamespace(attributes, ALLOWED)
    const allowed = own ?? cluster.whitelist ?? []
    if (allowed.length === 0 || tolerations.every(toleration => allowed.some(other => covers(other, toleration)))) return
    // Not a status of its own in Kubernetes either: clients see 500 and this text.
    const scope = own ? 'namespace' : 'cluster'
    throw new StatusError(
      500,
      '',
      `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${scope} whitelist`,
    )
  }
  return {
    name: 'PodTolerationRestriction',
    mutate(attributes) {
      const spec = podSpecOf(attributes)
      if (!spec) return
      const defaults = attributes.operation === 'CREATE' ? (ofNamespace(attributes, DEFAULTS) ?? cluster.default ?? []) : []
      const added = [...defaults, ...(qosClassOf(spec) === 'BestEffort' ? [] : [MEMORY_PRESSURE])]
      if (added.length > 0) spec.tolerations = mergeTolerations([...(spec.tolerations ?? []), ...copyJson(added)])
      check(attributes, spec.tolerations ?? [])
    },
    validate(attributes) {
      const spec = podSpecOf(attributes)
      if (spec) check(attributes, spec.tolerations ?? [])
    },
  }
}

/** The tolerations in an annotation; undefined when the namespace does not have it. */
function parseTolerations({ metadata: { annotations = {} } }: AnyObject, annotation: string): readonly Toleration[] | undefined {
  if (!Object.hasOwn(annotations, annotation)) return undefined
  const text = annotations[annotation]!
  if (text === '') return []
  try {
    const { value } = parseJson(text)
    if (value === null) return []
    if (!Array.isArray(value)) throw new JsonError(`json: cannot unmarshal ${jsonTypeName(value)} into Go value of type []v1.Toleration`, 0)
    return value as Toleration[]
  } catch (error) {
    if (error instanceof JsonError) throw new StatusError(500, '', error.message)
    throw error
  }
}
