/** The worker's side of `WorkerValidator`. */
import { kindsWithExpressions } from '../../kinds/kinds-with-expressions.ts'
import { answerJobs } from '../../lib/worker-thread.ts'
import { type Validated, validateJob } from '../../registry/validation-job.ts'
import { type Resource, resourcesOf } from '../../schema/resource.ts'
import { readFeatureGates } from '../feature-gates.ts'
import { gateOptions } from '../former-gates.ts'
import type { RuleSettings, ValidatorMessage } from './worker-validator.ts'

type Rules = { readonly resources: readonly Resource[]; readonly gate: (name: string) => boolean }
/** Rules by the settings that they were made for; a thread gets the same with every job. */
const known = new Map<string, Rules>()

const rulesOf = ({ groupDomain, featureGates, releases }: RuleSettings): Rules => ({
  resources: resourcesOf(kindsWithExpressions, groupDomain),
  gate: readFeatureGates(featureGates, gateOptions(releases)),
})

export function validateMessage({ job, settings }: ValidatorMessage): Validated {
  const key = JSON.stringify(settings)
  const rules = known.get(key) ?? rulesOf(settings)
  known.set(key, rules)
  const resource = rules.resources.find(({ apiVersion, kind }) => apiVersion === job.apiVersion && kind === job.kind)
  if (!resource) throw new Error(`no rules for ${job.kind} of ${job.apiVersion}`)
  return validateJob(job, { resource, gate: rules.gate, groupDomain: settings.groupDomain })
}

answerJobs<ValidatorMessage, Validated>(message => ({ result: validateMessage(message) }))
