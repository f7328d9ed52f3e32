/** TokenReview authenticates a bearer token. */
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { badRequest } from '../../schema/status-error.ts'
import { atomic, bool, message, string } from '../../schema/types.ts'
import { UserInfo, userInfoOf } from './user-info.ts'

const TokenReviewSpec = message('TokenReviewSpec', {
  token: [1, string.expected(), 'The token; it is never stored or logged.'],
  audiences: [2, atomic(string), 'The audiences that the token should be for; the server itself if empty.'],
})

const TokenReviewStatus = message('TokenReviewStatus', {
  authenticated: [1, bool, 'Whether the token was authenticated.'],
  user: [2, UserInfo.orEmpty(), 'The user of the token.'],
  audiences: [4, atomic(string), 'Those of the named audiences that the token is for.'],
  error: [3, string, 'Why the token is not believed.'],
})

export const TokenReview = defineKind({
  group: 'authentication.{group_domain}',
  version: 'v1',
  kind: 'TokenReview',
  scope: 'Cluster',
  names: { plural: 'tokenreviews' },
  doc: 'Determines the user of a bearer token.',
  verbs: ['create'],
  spec: TokenReviewSpec.expected(),
  status: TokenReviewStatus,
  resetFields: [],

  // biome-ignore lint/correctness/useYield: the error is no field error.
  *validate({ spec }) {
    if (!spec.token) throw badRequest('token is required for TokenReview in authentication')
  },
  virtual: {
    async review(review, { access, signal }) {
      const { token = '', audiences } = review.spec
      const found = await access.authenticate(token, audiences ?? [], { signal })
      // As at kube-apiserver, a status that was sent stays, but for the fields that the review decides.
      const { authenticated: _, user = {}, ...sent } = review.status ?? {}
      if (found.outcome === 'none') review.status = { user, ...sent }
      else if (found.outcome === 'invalid') review.status = { user, ...sent, error: found.reason }
      else review.status = { ...sent, authenticated: true, user: userInfoOf(found.user), audiences: [...found.audiences] }
      return review
    },
  },
})

/** An object of the kind TokenReview. */
export type TokenReview = ObjectOf<typeof TokenReview>
