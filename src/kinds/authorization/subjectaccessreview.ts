/** SubjectAccessReview checks whether a user may perform an action. */
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { review, SubjectAccessReviewSpec, SubjectAccessReviewStatus, subjectOf, validateNoMetadata, validateSpec } from './access.ts'

export const SubjectAccessReview = defineKind({
  group: 'authorization.{group_domain}',
  version: 'v1',
  kind: 'SubjectAccessReview',
  scope: 'Cluster',
  names: { plural: 'subjectaccessreviews' },
  doc: 'Whether a user may perform an action.',
  verbs: ['create'],
  fields: {
    spec: [2, SubjectAccessReviewSpec.orEmpty().always(), 'The request to check.'],
    status: [3, SubjectAccessReviewStatus.orEmpty(), 'The answer; set by the server.'],
  },
  resetFields: [],

  *validate({ spec, metadata }, at) {
    yield* validateSpec(spec, at.spec)
    yield* validateNoMetadata(metadata, at)
  },
  virtual: { review: async (o, ctx) => ({ ...o, status: await review(o.spec, subjectOf(o.spec), ctx) }) },
})

/** An object of the kind SubjectAccessReview. */
export type SubjectAccessReview = ObjectOf<typeof SubjectAccessReview>
