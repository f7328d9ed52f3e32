/** Applies the stored priority levels and flow schemas, and maintains the condition Dangling of flow schemas. */
import { serverIdentity } from '../../client/identity.ts'
import { defineController, watch } from '../../controllers/controller.ts'
import type { FlowControl } from '../../http/flow-control/flow-control.ts'
import type { FlowSchema as Schema } from '../../http/flow-control/flow-schema.ts'
import type { LevelConfiguration } from '../../http/flow-control/seats.ts'
import { failureText } from '../../http/observability/failure-text.ts'
import { FlowSchema } from '../../kinds/flowcontrol/flowschema.ts'
import { PriorityLevelConfiguration } from '../../kinds/flowcontrol/prioritylevelconfiguration.ts'
import { timestampOf } from '../../lib/time.ts'
import { conditionOf, isSameCondition } from '../../schema/conditions.ts'
import type { ServerContext } from '../context.ts'

type StoredSchema = FlowSchema
type StoredLevel = PriorityLevelConfiguration

const MANAGER = 'api-priority-and-fairness-config-consumer-v1'

/** Changes take effect before their writes are answered. Resolves when the stored configuration has taken effect. */
export async function followFlowControl(
  flowControl: FlowControl,
  { clientFor, log, signal }: Pick<ServerContext, 'clientFor' | 'log' | 'signal'>,
): Promise<void> {
  const client = clientFor(serverIdentity())
  const levels = client.of(PriorityLevelConfiguration)
  const schemas = client.of(FlowSchema)
  let isPlanned = false
  const configure = () => {
    isPlanned = false
    try {
      flowControl.configure([...levels.list()].flatMap(levelOf), [...schemas.list()].map(schemaOf))
    } catch (error) {
      log.error({ error: failureText(error) }, 'flow control could not be configured')
    }
  }
  // Runs once for changes that are committed together, before their writers get the answer.
  const plan = () => {
    if (!isPlanned) queueMicrotask(configure)
    isPlanned = true
  }
  await Promise.all([levels.watch(plan, signal), schemas.watch(plan, signal)])
}

/** The configuration of a level; undefined for an invalid one, which counts as absent. */
function levelOf({ metadata: { name = '', uid = '' }, spec }: StoredLevel): LevelConfiguration[] {
  const isExempt = spec.type === 'Exempt'
  if (isExempt !== (name === 'exempt')) return []
  const { nominalConcurrencyShares: shares = isExempt ? 0 : 30, lendablePercent = 0 } = (isExempt ? spec.exempt : spec.limited) ?? {}
  const queuing = spec.limited?.limitResponse?.queuing
  const { queues = 64, handSize = 8, queueLengthLimit = 50 } = queuing ?? {}
  const borrowingLimitPercent = spec.limited?.borrowingLimitPercent
  return [
    { name, uid, isExempt, shares, lendablePercent, borrowingLimitPercent, queuing: queuing && { queues, handSize, queueLengthLimit } },
  ]
}

function schemaOf({ metadata: { name = '', uid = '' }, spec }: StoredSchema): Schema {
  const { priorityLevelConfiguration, matchingPrecedence = 1000, distinguisherMethod, rules = [] } = spec
  const distinguisher = distinguisherMethod?.type as Schema['distinguisher']
  return { name, uid, level: priorityLevelConfiguration.name, matchingPrecedence, distinguisher, rules }
}

/** The condition of a schema that names a level. */
function danglingOf(level: string, isFound: boolean) {
  return {
    type: 'Dangling',
    status: isFound ? 'False' : 'True',
    reason: isFound ? 'Found' : 'NotFound',
    message: `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)} ${isFound ? 'and it exists' : 'but there is no such object'}`,
  }
}

/** Maintains the condition of every flow schema. */
export const flowSchemaConditions = defineController({
  name: 'priority-and-fairness-config-consumer',
  identity: serverIdentity(MANAGER),
  create({ client }) {
    const schemas = client.of(FlowSchema)
    const levels = client.of(PriorityLevelConfiguration)
    const referring = (level: string) =>
      [...schemas.list()].filter(({ spec }) => spec.priorityLevelConfiguration.name === level).map(({ metadata }) => metadata.name ?? '')
    return {
      watches: [watch(FlowSchema), watch(PriorityLevelConfiguration, ({ current }) => referring(current.name))],
      async reconcile(name) {
        const schema = schemas.get({ name })
        if (!schema) return
        const level = schema.spec.priorityLevelConfiguration.name
        const desired = danglingOf(level, levels.exists({ name: level }))
        if (isSameCondition(conditionOf(schema.status?.conditions, desired.type), desired)) return
        const lastTransitionTime = timestampOf(client.now)
        const status = { conditions: [{ ...desired, lastTransitionTime }] }
        await schemas.apply({ metadata: { name }, status }, { subresource: 'status' })
      },
    }
  },
})
