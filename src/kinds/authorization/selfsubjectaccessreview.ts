/** SelfSubjectAccessReview checks whether the current user may perform an action. */
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { review, SelfSubjectAccessReviewSpec, SubjectAccessReviewStatus, validateAccess, validateNoMetadata } from './access.ts'

export const SelfSubjectAccessReview = defineKind({
  group: 'authorization.{group_domain}',
  version: 'v1',
  kind: 'SelfSubjectAccessReview',
  scope: 'Cluster',
  names: { plural: 'selfsubjectaccessreviews' },
  doc: 'Whether the current user may perform an action.',
  verbs: ['create'],
  fields: {
    spec: [2, SelfSubjectAccessReviewSpec.orEmpty().always(), 'The request that is reviewed.'],
    status: [3, SubjectAccessReviewStatus.orEmpty(), 'The answer; set by the server.'],
  },
  resetFields: [],

  *validate({ spec, metadata }, at) {
    yield* validateAccess(spec, at.spec)
    yield* validateNoMetadata(metadata, at)
  },
  virtual: { review: async (o, ctx) => ({ ...o, status: await review(o.spec, ctx.user, ctx) }) },
})

/** An object of the kind SelfSubjectAccessReview. */
export type SelfSubjectAccessReview = ObjectOf<typeof SelfSubjectAccessReview>
