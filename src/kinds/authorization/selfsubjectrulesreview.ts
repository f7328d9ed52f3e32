/** SelfSubjectRulesReview lists the actions that the current user may perform in a namespace. */
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { badRequest } from '../../schema/status-error.ts'
import { atomic, bool, message, type Static, string } from '../../schema/types.ts'

const ResourceRule = message('ResourceRule', {
  verbs: [1, atomic(string).always(), 'The permitted verbs; * for all.'],
  apiGroups: [2, atomic(string), 'API groups of the resources; * for all.'],
  resources: [3, atomic(string), 'Resources, also as resource/subresource; * for all.'],
  resourceNames: [4, atomic(string), 'Names that the rule is limited to; all when empty.'],
})
const NonResourceRule = message('NonResourceRule', {
  verbs: [1, atomic(string).always(), 'The permitted verbs; * for all.'],
  nonResourceURLs: [2, atomic(string), 'Paths; * at the end for all that begin so.'],
})
const SelfSubjectRulesReviewSpec = message('SelfSubjectRulesReviewSpec', {
  namespace: [1, string, 'The namespace to list rules for.'],
})
const SubjectRulesReviewStatus = message('SubjectRulesReviewStatus', {
  resourceRules: [1, atomic(ResourceRule).always(), 'The permissions on resources, in no order.'],
  nonResourceRules: [2, atomic(NonResourceRule).always(), 'The permissions on paths, in no order.'],
  incomplete: [3, bool.always(), 'Whether the list may be incomplete.'],
  evaluationError: [4, string, 'Errors during the evaluation of rules.'],
})
type Status = Static<typeof SubjectRulesReviewStatus>

export const SelfSubjectRulesReview = defineKind({
  group: 'authorization.{group_domain}',
  version: 'v1',
  kind: 'SelfSubjectRulesReview',
  scope: 'Cluster',
  names: { plural: 'selfsubjectrulesreviews' },
  doc: 'The actions that the current user may perform in a namespace.',
  verbs: ['create'],
  fields: {
    spec: [2, SelfSubjectRulesReviewSpec.orEmpty().always(), 'Where.'],
    status: [3, SubjectRulesReviewStatus.orEmpty(), 'The answer; set by the server.'],
  },
  resetFields: [],
  virtual: {
    // The response contains nothing of the request.
    review({ kind, apiVersion, spec: { namespace } }, { access, user }) {
      if (!namespace) throw badRequest('no namespace on request')
      const { resourceRules, nonResourceRules, incomplete, problem } = access.rulesFor(user, namespace)
      const status = { resourceRules, nonResourceRules, incomplete, ...(problem && { evaluationError: problem }) }
      return { kind, apiVersion, metadata: {}, spec: {}, status: status as Status }
    },
  },
})

/** An object of the kind SelfSubjectRulesReview. */
export type SelfSubjectRulesReview = ObjectOf<typeof SelfSubjectRulesReview>
