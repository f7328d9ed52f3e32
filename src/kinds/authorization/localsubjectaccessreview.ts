/** LocalSubjectAccessReview checks whether a user may perform an action in one namespace. Permission to create it can be granted per namespace. */
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { invalid, withValue } from '../../schema/refs.ts'
import {
  review,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
  shownPath,
  subjectOf,
  validateNoMetadata,
  validateSpec,
} from './access.ts'

export const LocalSubjectAccessReview = defineKind({
  group: 'authorization.{group_domain}',
  version: 'v1',
  kind: 'LocalSubjectAccessReview',
  scope: 'Namespaced',
  names: { plural: 'localsubjectaccessreviews' },
  doc: 'Whether a user may perform an action in a namespace.',
  verbs: ['create'],
  fields: {
    spec: [2, SubjectAccessReviewSpec.orEmpty().always(), 'The request to check; the namespace is that of the request.'],
    status: [3, SubjectAccessReviewStatus.orEmpty(), 'The answer; set by the server.'],
  },
  resetFields: [],

  *validate({ spec, metadata }, at) {
    yield* validateSpec(spec, at.spec)
    yield* validateNoMetadata(metadata, at, 'namespace')
    if (spec.resourceAttributes && (spec.resourceAttributes.namespace ?? '') !== metadata.namespace)
      yield invalid(at.spec.resourceAttributes.namespace, 'must match metadata.namespace')
    if (spec.nonResourceAttributes)
      yield invalid(withValue(at.spec.nonResourceAttributes, shownPath(spec)), 'disallowed on this kind of request')
  },
  virtual: { review: async (o, ctx) => ({ ...o, status: await review(o.spec, subjectOf(o.spec), ctx) }) },
})

/** An object of the kind LocalSubjectAccessReview. */
export type LocalSubjectAccessReview = ObjectOf<typeof LocalSubjectAccessReview>
