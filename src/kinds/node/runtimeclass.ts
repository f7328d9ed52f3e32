/** RuntimeClass names the runtime handler of the pods that refer to it. */
import { nameIsDNSLabel } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { validateLabels } from '../../schema/meta-rules.ts'
import { duplicate, type FieldError, invalid, invalidEach, type Ref, required, withValue } from '../../schema/refs.ts'
import { atomic, mapOf, message, quantity, type Static, string } from '../../schema/types.ts'
import { validateContainerResources } from '../rules/pod/resources/resource-rules.ts'
import type { ResourceRequirements } from '../rules/pod/resources/resources.ts'
import { Toleration } from '../rules/pod/scheduling/affinity.ts'
import { deprecatedNodeLabel } from '../rules/pod/scheduling/node-labels.ts'
import { validateTolerations } from '../rules/pod/scheduling/toleration-rules.ts'

const Overhead = message('Overhead', {
  podFixed: [1, mapOf(quantity), 'Resources that every pod of the class costs beside those of its containers.'],
})

const Scheduling = message('Scheduling', {
  nodeSelector: [1, mapOf(string).atomic(), 'Labels of the nodes that can run such pods.'],
  tolerations: [2, atomic(Toleration), 'Taints that such pods tolerate.'],
})
type Scheduling = Static<typeof Scheduling>

export const RuntimeClass = defineKind({
  group: 'node.{group_domain}',
  version: 'v1',
  kind: 'RuntimeClass',
  scope: 'Cluster',
  names: { plural: 'runtimeclasses' },
  doc: 'How the containers of a pod are run.',
  unqualifiedFinalizers: true,
  fields: {
    handler: [2, string.always(), 'The name of the runtime handler on nodes, as a DNS label. Cannot change.'],
    overhead: [3, Overhead, 'The resources that running a pod with this class costs.'],
    scheduling: [4, Scheduling, 'Which nodes support this class.'],
  },
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,

  *validate({ handler, overhead, scheduling }, at, { old }) {
    if (overhead) yield* validateContainerResources({ limits: overhead.podFixed ?? {} }, limitsOf(overhead, at.overhead))
    if (scheduling) yield* validateScheduling(scheduling, at.scheduling)
    if (old && handler !== old.handler) yield invalid(at.handler, 'field is immutable')
    else if (!handler) yield required(at.handler)
    else yield* invalidEach(at.handler, nameIsDNSLabel(handler))
  },
  *warn({ scheduling }) {
    for (const label of Object.keys(scheduling?.nodeSelector ?? {})) {
      const instead = deprecatedNodeLabel(label)
      if (instead !== undefined) yield `scheduling.nodeSelector: ${instead}`
    }
  },

  columns: {
    Handler: ['string', o => o.handler, ''],
    Age: age,
  },
})

/** An object of the kind RuntimeClass. */
export type RuntimeClass = ObjectOf<typeof RuntimeClass>

/** Errors name the amounts `limits`, like those of a container. */
const limitsOf = ({ podFixed = {} }: Static<typeof Overhead>, at: Ref<unknown>): Ref<ResourceRequirements> =>
  withValue<ResourceRequirements>(at, { limits: podFixed })

function* validateScheduling({ nodeSelector, tolerations = [] }: Scheduling, at: Ref<Scheduling>): Iterable<FieldError> {
  yield* validateLabels(nodeSelector, at.nodeSelector)
  yield* validateTolerations(tolerations, at.tolerations, { numericTolerations: false })
  const seen = new Set<string>()
  for (const [i, { key = '', operator = '', value = '', effect = '', tolerationSeconds = null }] of tolerations.entries()) {
    const listed = JSON.stringify([key, operator, value, effect])
    // kube-apiserver shows the toleration with the field names of its internal type.
    const shown = { Key: key, Operator: operator, Value: value, Effect: effect, TolerationSeconds: tolerationSeconds }
    if (seen.has(listed)) yield duplicate(withValue(at.tolerations[i]!, shown))
    seen.add(listed)
  }
}
