/** Looks for mistakes in the types of policies' expressions, and tells them in the status of the policy. */
import { typeWarnings } from '../../admission/policies/type-checking.ts'
import { namedBy } from '../../client/change.ts'
import type { Draft } from '../../client/client.ts'
import { ValidatingAdmissionPolicy } from '../../kinds/admissionregistration/validatingadmissionpolicy.ts'
import { Pace } from '../../lib/pace.ts'
import { run } from '../../lib/step.ts'
import type { Resource } from '../../schema/resource.ts'
import { defineController, watch } from '../controller.ts'

export type PolicyStatusParts = {
  /** All resources that are served now. */
  readonly served: Iterable<Resource>
}

const NAME = 'validatingadmissionpolicy-status-controller'

export const policyStatusController = ({ served }: PolicyStatusParts) =>
  defineController({
    name: NAME,
    identity: NAME,
    workers: 5,
    create({ client }) {
      const policies = client.of(ValidatingAdmissionPolicy)
      return {
        watches: [watch(ValidatingAdmissionPolicy)],
        async reconcile(key) {
          const policy = policies.get(namedBy(key))
          const { generation = 0, name } = policy?.metadata ?? {}
          if (!policy || Number(generation) <= Number(policy.status?.observedGeneration ?? 0)) return
          const expressionWarnings = await run(typeWarnings(policy, [...served]), new Pace())
          const typeChecking = expressionWarnings.length > 0 ? { expressionWarnings } : {}
          const draft = { metadata: { name }, status: { observedGeneration: generation, typeChecking } }
          await policies.apply(draft as Draft<typeof policy>, { manager: 'validatingadmissionpolicy-status', subresource: 'status' })
        },
      }
    },
  })
