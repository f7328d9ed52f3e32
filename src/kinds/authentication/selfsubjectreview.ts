/** SelfSubjectReview returns the user that sent the request. */
import { timestampOf } from '../../lib/time.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { message } from '../../schema/types.ts'
import { UserInfo, userInfoOf } from './user-info.ts'

const SelfSubjectReviewStatus = message('SelfSubjectReviewStatus', {
  userInfo: [1, UserInfo.orEmpty(), 'The user that sent the request.'],
})

export const SelfSubjectReview = defineKind({
  group: 'authentication.{group_domain}',
  version: 'v1',
  kind: 'SelfSubjectReview',
  scope: 'Cluster',
  names: { plural: 'selfsubjectreviews' },
  doc: 'The user that sent the request, as the server authenticated it.',
  verbs: ['create'],
  fields: { status: [2, SelfSubjectReviewStatus.orEmpty(), 'The answer; set by the server.'] },
  resetFields: [],
  virtual: {
    // The response contains nothing of the request.
    review: ({ kind, apiVersion }, { user, now }) => ({
      kind,
      apiVersion,
      metadata: { creationTimestamp: timestampOf(now) },
      status: { userInfo: userInfoOf(user) },
    }),
  },
})

/** An object of the kind SelfSubjectReview. */
export type SelfSubjectReview = ObjectOf<typeof SelfSubjectReview>
