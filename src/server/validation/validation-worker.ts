/** The worker's side of `WorkerValidator`. */
import { kindsWithExpressions } from '../../kinds/kinds-with-expressions.ts'
import { answerJobs } from '../../lib/worker-thread.ts'
import { type Validated, validateJob } from '../../registry/validation-job.ts'
import { type Resource, resourcesOf } from '../../schema/resource.ts'
import { readFeatureGates } from '../feature-gates.ts'
import { gateOptions } from '../former-gates.ts'
import type { RuleSettings, ValidatorMessage } from './worker-validator.ts'

type Rules = { readonly resources: readonly Resource[]; readonly gate: (name: string) => boolean }
let rules: Rules | undefined

const rulesOf = ({ groupDomain, featureGates, releases }: RuleSettings): Rules => ({
  resources: resourcesOf(kindsWithExpressions, groupDomain),
  gate: readFeatureGates(featureGates, gateOptions(releases)),
})

answerJobs<ValidatorMessage, Validated>(({ job, settings }) => {
  rules ??= rulesOf(settings)
  const resource = rules.resources.find(({ apiVersion, kind }) => apiVersion === job.apiVersion && kind === job.kind)
  if (!resource) throw new Error(`no rules for ${job.kind} of ${job.apiVersion}`)
  return { result: validateJob(job, { resource, gate: rules.gate, groupDomain: settings.groupDomain }) }
})
