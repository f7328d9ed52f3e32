/** Tells in the status of validating policies which of their expressions do not fit the kinds that they are about. */
import { expressionWarnings } from '../../admission/policies/type-checking.ts'
import type { Client, Draft } from '../../client/client.ts'
import { ValidatingAdmissionPolicy } from '../../kinds/admissionregistration/validatingadmissionpolicy.ts'
import type { Resource } from '../../schema/resource.ts'
import { defineController, watch } from '../controller.ts'

const NAME = 'validatingadmissionpolicy-status-controller'

export const policyStatusController = defineController({
  name: NAME,
  identity: NAME,
  create({ client }) {
    const policies = client.of(ValidatingAdmissionPolicy)
    return {
      watches: [watch(ValidatingAdmissionPolicy)],
      async reconcile(name) {
        const policy = policies.get({ name })
        if (!policy) return
        const { generation = 0 } = policy.metadata
        if (Number(generation) <= Number(policy.status?.observedGeneration ?? 0)) return
        const warnings = expressionWarnings(policy, kindsOf(client))
        const typeChecking = warnings.length > 0 ? { expressionWarnings: warnings } : {}
        const draft = { metadata: { name }, status: { observedGeneration: generation, typeChecking } }
        await policies.apply(draft as Draft<typeof policy>, { manager: NAME, subresource: 'status' })
      },
    }
  },
})

const kindsOf = (client: Client) => ({
  find({ group, version, plural }: Pick<Resource, 'group' | 'version' | 'plural'>): Resource | undefined {
    for (const resource of client.resources())
      if (resource.group === group && resource.plural === plural) {
        const served = resource.versions.find(each => each.version === version)
        if (served) return served
      }
    return undefined
  },
  ofKind: (apiVersion: string, kind: string) => client.ofKind(apiVersion, kind)?.resource,
})
