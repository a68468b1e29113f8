/** What the queue carries: plain data, as it goes through Redis as JSON. */
export interface Parcel {
  readonly customer: string;
  readonly productId: string;
  readonly quantity: number;
}

/** The queue's name. */
export const PARCELS = 'parcels';
