const CALLS = 1_000;

/** A call whose message is about 350 bytes as it is sent. */
function callOf(n) {
  return {
    userId: `user-${n}`,
    event: 'Order Completed',
    properties: {
      orderId: `order-${n}`,
      revenue: 39.95,
      currency: 'EUR',
      products: ['mug', 'tent'],
      shipping: 'overnight',
    },
  };
}

/** Different calls, made beforehand so that making them is not measured: each number has one. */
export function makeCalls(shape = (call) => call) {
  const calls = Array.from({ length: CALLS }, (_, n) => shape(callOf(n)));
  return (n) => calls[n % CALLS];
}
