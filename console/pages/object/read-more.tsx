/** The button that reads revisions of an object beyond those that are read at first. */
import { PORTION } from '../../core/revisions.ts'

export const ReadMore = ({ past }: { past: { readMore(): void } }) => (
  <button type="button" class="button button-small" onClick={() => past.readMore()}>
    Read {PORTION} older revisions
  </button>
)
