# The second half of libdevice.py's module: special functions. They are computed in fp64, and rounded if the arguments are fp32.
#
# A smooth part of a function is a Chebyshev series; tools/chebyshev.py made the coefficients. docs/libdevice.md states how exact each function
# is, and the tests hold every engine to that.

_PI = tl.constexpr(3.141592653589793)
_PI_LOW = tl.constexpr(1.2246467991473532e-16)
_ROOT_HALF = tl.constexpr(0.7071067811865476)
_ROOT_HALF_LOW = tl.constexpr(-4.833646656726457e-17)
_ROOT_2 = tl.constexpr(1.4142135623730951)
_ROOT_PI = tl.constexpr(1.772453850905516)

_ERFCX = tl.constexpr((
    1.1774832005374487, -0.007260796620301901, -0.081265123236185, 0.06009212804122225, -0.02875393558027666, 0.01059566336347286,
    -0.003136927294554264, 0.0007456494372536184, -0.0001369696503010054, 1.7183861600300937e-05, -7.158364623450346e-07,
    -2.4261399442449534e-07, 5.5765709395703566e-08, -2.1057869513809494e-09, -1.1717889351884957e-09, 1.9098355172456688e-10,
    1.408871764208813e-11, -6.901108320480815e-12, 9.167958364111294e-14, 2.1454508286554553e-13, -1.4716575027010623e-14,
    -6.668675118770408e-15, 7.504598509880083e-16, 2.22009300666632e-16, -3.1704898956330886e-17, -8.193570309884333e-18,
    1.2459819733129574e-18,
))
_LOG_GAMMA_AT_1 = tl.constexpr((
    -0.633011426275031, 0.4405675574678963, -0.057857409449912446, 0.010513973690267811, -0.002163989092091715, 0.0004744402338724658,
    -0.00010799644528099427, 2.5201155299530276e-05, -5.986014498026819e-06, 1.4410616180293054e-06, -3.5060690575761177e-07,
    8.603823016763753e-08, -2.126510912478688e-08, 5.287778091463614e-09, -1.3217135752166157e-09, 3.3186698554450495e-10,
    -8.365902567746219e-11, 2.116338666160694e-11, -5.370507653794381e-12, 1.3666688100545857e-12, -3.486660039885161e-13,
    8.915622432767707e-14, -2.28454959350908e-14, 5.86514671522212e-15, -1.5084071183968602e-15, 3.885614648428306e-16,
    -1.0024188186640361e-16, 2.5896418565384152e-17, -6.69867474095857e-18, 1.7348373407131055e-18,
))
_LOG_GAMMA_AT_2 = tl.constexpr((
    0.48362763659842517, 0.22408351337696908, -0.016061611364725618, 0.0016796351005504537, -0.000206207082576848, 2.7619482587698902e-05,
    -3.902432064395172e-06, 5.712600238782988e-07, -8.57232441585347e-08, 1.3098706178370361e-08, -2.0291174319191596e-09,
    3.177019404112652e-10, -5.0168902255267044e-11, 7.977607508944761e-12, -1.2759320707466868e-12, 2.0507506001786822e-13,
    -3.309998326505828e-14, 5.362087191185866e-15, -8.714427500704616e-16, 1.4203170417419452e-16, -2.3208252786405174e-17,
    3.801021892031957e-18, -6.238290254064288e-19,
))
_GAMMA = tl.constexpr((
    1.4137822420244524, 0.49172848008900727, 0.08532454170609606, 0.008214558154673682, 0.0008879278094690782, 5.6765679151886106e-05,
    5.264076190531452e-06, 1.9612784848738765e-07, 2.425465919964936e-08, -4.340584399846537e-11, 1.2813542241531117e-10,
    -7.185158744735293e-12, 9.878862168080628e-13, -8.935248942385424e-14, 9.472673359391568e-15, -9.426686010233666e-16,
    9.59100989075118e-17, -9.677958042410815e-18,
))
_STIRLING = tl.constexpr((
    0.08331947402259317, -1.384948176067564e-05, 9.81082564692473e-09, -1.809129475572494e-11, 6.221098041892606e-14,
    -3.399615005417722e-16, 2.683181998482699e-18,
))
_J0 = tl.constexpr((
    0.15772797147489012, -0.008723442352852221, 0.2651786132033368, -0.37009499387264977, 0.15806710233209725, -0.034893769411408884,
    0.004819180069467605, -0.00046062616620627504, 3.246032882100508e-05, -1.7619469077621507e-06, 7.608163592418782e-08,
    -2.679253530557673e-09, 7.848696314479465e-11, -1.9438346867370164e-12, 4.125320595634374e-14, -7.588508125447546e-16,
    1.2218515873961411e-17,
))
_Y0 = tl.constexpr((
    -0.03314611320328494, -0.2744743055297453, 0.17903431407718265, 0.26156734625504663, -0.17730201278114358, 0.04719668959576339,
    -0.007287962479552079, 0.0007531135932577742, -5.632079141056987e-05, 3.206532537654801e-06, -1.44072332740187e-07,
    5.248794787330516e-09, -1.5837552541812015e-10, 4.02633081830612e-12, -8.747341203310769e-14, 1.6434898714919468e-15,
    -2.6977881152566837e-17, 3.9032584173475982e-19,
))
_P0 = tl.constexpr((
    0.9994603493475187, -0.0005365220468132117, 3.0751847875194745e-06, -5.1705945376060975e-08, 1.6306464635151382e-09,
    -7.86409137723707e-11, 5.168262387349193e-12, -4.3045788699253914e-13, 4.3265957431549404e-14, -5.069034095935236e-15,
    6.748072215733873e-16, -1.0011513723467786e-16, 1.6305919233744186e-17, -2.880866169482871e-18,
))
_Q0 = tl.constexpr((
    -0.015555854605337009, 6.838519942611649e-05, -7.414498411060647e-07, 1.7972457247968992e-08, -7.27191593686632e-10,
    4.2201219046687385e-11, -3.206747420996635e-12, 3.006145125351706e-13, -3.336328185322427e-14, 4.255225040245461e-15,
    -6.09993013164005e-16, 9.662128970303257e-17, -1.6686065214378146e-17, 3.1082440486738143e-18, -6.191115787358145e-19,
    1.3091448717220122e-19, -2.9211627152642775e-20,
))
_I0 = tl.constexpr((
    0.33839763720473803, -0.3046826723431984, 0.17162090152220877, -0.09490109704804764, 0.04930528423967071, -0.02373741480589947,
    0.010546460394594998, -0.004324309995050576, 0.0016394756169413357, -0.0005763755745385824, 0.00018850288509584165,
    -5.754195010082104e-05, 1.6448448070728896e-05, -4.4167383584587505e-06, 1.1173875391201037e-06, -2.670793853940612e-07,
    6.046995022541919e-08, -1.300025009986248e-08, 2.6598237246823866e-09, -5.189795601635263e-10, 9.675809035373237e-11,
    -1.726826291441556e-11, 2.95505266312964e-12, -4.856446783111929e-13, 7.676185498604936e-14, -1.1685332877993451e-14,
    1.715391285555133e-15, -2.431279846547955e-16, 3.3307945188222384e-17, -4.4153416464793395e-18, 5.669178006921496e-19,
))
_I0_FAR = tl.constexpr((
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06, 2.0489185894690638e-07,
    2.266668990498178e-08, 3.3962320257083865e-09, 4.94060238822497e-10, 1.1889147107846439e-11, -3.1499165279632416e-11,
    -1.3215811840447713e-11, -1.7941785315068062e-12, 7.180124451383666e-13, 3.8527783827421426e-13, 1.54008621752141e-14,
    -4.150569347287222e-14, -9.554846698828307e-15, 3.8116806693526224e-15, 1.7725601330565263e-15, -3.425485619677219e-16,
    -2.8276239805165836e-16, 3.461222867697461e-17, 4.46562142029676e-17, -4.830504485944182e-18, -7.233180487874754e-18,
    9.921475412173699e-19, 1.193650890845982e-18,
))
_J1 = tl.constexpr((
    0.08104484632565812, -0.1489751450676521, 0.1609992623572097, -0.08268049176681791, 0.022213639654966037, -0.003646940600769276,
    0.0004050337728354822, -3.255554866857259e-05, 1.9858774049915165e-06, -9.521984756750436e-08, 3.687133759097148e-09,
    -1.178026622695885e-10, 3.160154580348003e-12, -7.221755239651773e-14, 1.4232144003513942e-15, -2.4441972916190464e-17,
    3.6912682997929334e-19,
))
_Y1 = tl.constexpr((
    0.0025380132357417816, -0.01608717304766875, -0.09591204536083074, 0.08445197259652346, -0.028328123944594365, 0.005289897544167113,
    -0.0006414551451326356, 5.505982873338744e-05, -3.53808001868935e-06, 1.7707804556154404e-07, -7.11055004989928e-09,
    2.344337905911516e-10, -6.4651518414115946e-12, 1.51429151205002e-13, -3.0511859694473254e-15, 5.34668038572867e-17,
    -8.224911372021585e-19,
))
_P1 = tl.constexpr((
    1.0009030408600137, 0.0008989898330859408, -3.987284300488908e-06, 6.177633960644299e-08, -1.8718907491063067e-09,
    8.816898659582339e-11, -5.704863640395645e-12, 4.699195515230542e-13, -4.6842237839904895e-14, 5.452674896044717e-15,
    -7.221180842274018e-16, 1.0667689114335412e-16, -1.7312313216116335e-17, 3.0492991197665872e-18,
))
_Q1 = tl.constexpr((
    0.04677778706953532, -9.62772354915708e-05, 9.138615257955454e-07, -2.0959781384083424e-08, 8.229193327650554e-10,
    -4.686363688176945e-11, 3.5152187949686082e-12, -3.2643156743279e-13, 3.5967765829165294e-14, -4.5612523950772974e-15,
    6.508282957783384e-16, -1.0269147531823243e-16, 1.767635548776479e-17, -3.2834519872981614e-18, 6.524081149589261e-19,
    -1.3765771484849487e-19,
))
_I1 = tl.constexpr((
    0.12629359322181682, -0.17641651835783406, 0.1026436586898471, -0.05294598120809499, 0.024726449030626516, -0.010564084894626197,
    0.004156422944312888, -0.0015135724506312532, 0.0005122859561685758, -0.00016176081582589674, 4.781565107550054e-05,
    -1.3273163656039436e-05, 3.4702513081376785e-06, -8.568720264695455e-07, 2.0032947535521353e-07, -4.445059128796328e-08,
    9.381537386495773e-09, -1.8872497517228294e-09, 3.625590281552117e-10, -6.663489723502027e-11, 1.1736186298890901e-11,
    -1.9839743977649436e-12, 3.223793365945575e-13, -5.042185504727912e-14, 7.600684294735408e-15, -1.1055969477353862e-15,
    1.5536319577362005e-16, -2.111421214358166e-17, 2.7779141127610464e-18, -3.541581772542136e-19,
))
_I1_FAR = tl.constexpr((
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06, -2.512236237870209e-07,
    -2.6314688468895196e-08, -3.835380385964237e-09, -5.589743462196584e-10, -1.8974958123505413e-11, 3.2526035830154884e-11,
    1.4125807436613782e-11, 2.0356285441470896e-12, -7.198551776245908e-13, -4.0835511110921974e-13, -2.1015418427726643e-14,
    4.272440016711951e-14, 1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15, 3.3082023109209285e-16,
    2.96262899764595e-16, -3.209525921993424e-17, -4.6503053684893586e-17, 4.414348323071708e-18, 7.517296310842105e-18,
    -9.314178867326884e-19, -1.242193275194891e-18,
))


# ---- special functions, in fp64


@triton.jit
def _series(t, terms: tl.constexpr):
    """terms[0] + terms[1] T1(t) + terms[2] T2(t) + ..., by Clenshaw's rule."""
    last = tl.zeros_like(t)
    before = tl.zeros_like(t)
    twice = t + t
    for i in tl.static_range(len(terms) - 1):
        next = tl.fma(twice, last, terms[len(terms) - 1 - i] - before)
        before = last
        last = next
    return tl.fma(t, last, terms[0] - before)


@triton.jit
def _on(x, low: tl.constexpr, high: tl.constexpr):
    """Maps [low, high] to [-1, 1]; values outside are clamped."""
    middle: tl.constexpr = (low + high) / 2
    return tl.minimum(tl.maximum((x - middle) * (2 / (high - low)), -1.0), 1.0)


@triton.jit
def _exp_of_square(x, factor: tl.constexpr):
    """e^(factor x^2), accurate even if the square has more bits than a number."""
    bounded = tl.minimum(tl.abs(x), 1e10)
    square = bounded * bounded
    rest = tl.fma(bounded, bounded, -square)
    power = tl.exp(square * factor)
    return tl.where((power > 0) & (power < _INFINITY), tl.fma(power, rest * factor, power), power)


@triton.jit
def _erfcx_of_positive(x):
    bounded = tl.minimum(x, 1e300)
    t = (bounded - 4.0) / (bounded + 4.0)
    return _series(t, _ERFCX) / (1.0 + 2.0 * bounded)


@triton.jit
def erfcx(x):
    wide = x.to(tl.float64)
    right = _erfcx_of_positive(tl.abs(wide))
    result = tl.where(wide < 0, 2.0 * _exp_of_square(wide, 1.0) - right, right)
    return tl.where(wide == _INFINITY, 0.0, tl.where(wide != wide, wide, result)).to(x.dtype)


@triton.jit
def normcdf(x):
    wide = x.to(tl.float64)
    scaled = tl.abs(wide) * _ROOT_HALF
    tail = 0.5 * _exp_of_square(wide, -0.5) * _erfcx_of_positive(scaled)
    near = 0.5 * libdevice.erfc(-wide * _ROOT_HALF)
    result = tl.where(wide < -1.0, tail, tl.where(wide > 1.0, 1.0 - tail, near))
    return tl.where(wide != wide, wide, result).to(x.dtype)


@triton.jit
def _inverse_start(product):
    """|y| where 1 - erf(y)^2 is `product`, to three digits."""
    log = tl.log(product)
    half = log * 0.5 + 4.330746750799873
    return tl.sqrt(tl.maximum(tl.sqrt(half * half - log * 6.802721088435375) - half, 0.0))


@triton.jit
def _inverse_near(x):
    """erfinv of |x| <= 0.8, by Halley's steps from three digits."""
    y = copysign(_inverse_start((1.0 - x) * (1.0 + x)), x)
    for i in tl.static_range(2):
        step = (libdevice.erf(y) - x) * (0.5 * _ROOT_PI) * tl.exp(y * y)
        y = y - step / (1.0 + y * step)
    return tl.where(tl.abs(x) < 1e-8, x * (0.5 * _ROOT_PI), y)


@triton.jit
def _inverse_far(z):
    """The y > 0 where erfc(y) is z, for z up to 0.3."""
    y = _inverse_start(z * (2.0 - z))
    for i in tl.static_range(3):
        # (erfc(y) - z) / erfc'(y), times e^(y^2) above and below
        square = y * y
        power = tl.exp(0.5 * square)
        ratio = z * power * (power * (1.0 + tl.fma(y, y, -square)))
        step = (_erfcx_of_positive(y) - ratio) * (-0.5 * _ROOT_PI)
        y = y - step / (1.0 + y * step)
    return y


@triton.jit
def _inverse(x, z):
    """erfinv(x), where z = 1 - x is known as exactly as x is."""
    near = _inverse_near(tl.minimum(tl.maximum(x, -0.8), 0.8))
    tail = tl.minimum(z, 2.0 - z)
    far = copysign(_inverse_far(tl.minimum(tl.maximum(tail, 5e-324), 0.3)), x)
    result = tl.where(tl.abs(x) <= 0.75, near, far)
    result = tl.where(tail == 0, copysign(_INFINITY + x * 0, x), result)
    return tl.where((z >= 0) & (z <= 2), result, _NAN)


@triton.jit
def erfinv(x):
    wide = x.to(tl.float64)
    # Below 1 / 2 the difference is not exact, and not asked for.
    magnitude = tl.abs(wide)
    result = copysign(_inverse(magnitude, 1.0 - magnitude), wide)
    return tl.where(magnitude <= 1, result, _NAN).to(x.dtype)


@triton.jit
def erfcinv(x):
    wide = x.to(tl.float64)
    return _inverse(1.0 - wide, wide).to(x.dtype)


@triton.jit
def normcdfinv(x):
    wide = x.to(tl.float64)
    return (-_ROOT_2 * _inverse(1.0 - 2.0 * wide, 2.0 * wide) + 0.0).to(x.dtype)


@triton.jit
def _part_of_period(x):
    """x - 2 n in -1 ... 1, exactly."""
    return x - 2.0 * libdevice.rint(x * 0.5)


@triton.jit
def _sine_of_pi(x):
    part = _part_of_period(x)
    folded = tl.where(tl.abs(part) > 0.5, copysign(1.0 - tl.abs(part), part), part)
    small = tl.abs(folded) <= 0.25
    sine = tl.sin(_PI * tl.where(small, folded, 0.0))
    cosine = tl.cos(_PI * tl.where(small, 0.0, 0.5 - tl.abs(folded)))
    return tl.where(small, sine, copysign(cosine, folded))


@triton.jit
def sinpi(x):
    wide = x.to(tl.float64)
    result = _sine_of_pi(wide)
    result = tl.where(result == 0, copysign(result, wide), result)
    return tl.where(_is_finite(wide), result, _NAN).to(x.dtype)


@triton.jit
def cospi(x):
    wide = tl.abs(_part_of_period(x.to(tl.float64)))
    result = tl.where(wide <= 0.25, tl.cos(_PI * wide), _sine_of_pi(0.5 - wide) + 0.0)
    return tl.where(_is_finite(x), result, _NAN).to(x.dtype)


@triton.jit
def exp10(x):
    wide = x.to(tl.float64)
    bounded = tl.minimum(tl.maximum(wide, -400.0), 400.0)
    whole = libdevice.rint(bounded * 3.321928094887362)
    # log10(2) in two parts: the first has few bits, so that its products are exact.
    rest = tl.fma(-whole, 0.3010299955494702, bounded)
    rest = tl.fma(-whole, 1.1451100898021838e-10, rest)
    power = tl.exp(rest * 2.302585092994046)
    result = ldexp(power, tl.where(wide == wide, whole, 0.0).to(tl.int32))
    return tl.where(wide != wide, wide, result).to(x.dtype)


@triton.jit
def fast_exp10f(x):
    return exp10(x)


@triton.jit
def pow_whole(x, n):
    """A whole power; those of two floats are the back ends'."""
    return libdevice.pow(x.to(tl.float64), n.to(tl.float64)).to(x.dtype)


# ---- the gamma function


@triton.jit
def _stirling_rest(x):
    """log Gamma(x) - ((x - 1 / 2) log x - x + log(2 pi) / 2), from 10 on."""
    inverse = 1.0 / x
    return inverse * _series(_on(inverse * inverse, 0.0, 0.01), _STIRLING)


@triton.jit
def _log_gamma_of_positive(x):
    # Shifts x down to 2 ... 3 if it is larger, and up by one if it is near 0.
    product = tl.full(x.shape, 1.0, tl.float64) if len(x.shape) > 0 else x * 0 + 1
    small = tl.where(x < 0.5, x + 1.0, x)
    for i in tl.static_range(8):
        above = (small >= 3.0) & (x < 10.0)
        small = tl.where(above, small - 1.0, small)
        product = tl.where(above, product * small, product)
    at_1 = (small - 1.0) * _series(_on(small, 0.5, 1.5), _LOG_GAMMA_AT_1)
    at_2 = (small - 2.0) * _series(_on(small, 1.5, 3.0), _LOG_GAMMA_AT_2)
    near = tl.where(small < 1.5, at_1, at_2)
    near = tl.where(x < 0.5, near - tl.log(x), near + tl.log(product))
    large = tl.maximum(x, 10.0)
    log = tl.log(large)
    far = (large - 0.5) * (log - 1.0) + (0.41893853320467274 + _stirling_rest(large))
    return tl.where(x < 10.0, near, tl.where(x < 1e305, far, large * (log - 1.0)))


@triton.jit
def lgamma(x):
    wide = x.to(tl.float64)
    magnitude = tl.abs(wide)
    right = _log_gamma_of_positive(magnitude)
    # Gamma(-x) Gamma(x) = -pi / (x sin(pi x))
    sine = tl.abs(_sine_of_pi(wide))
    left = tl.log(_PI / (tl.maximum(magnitude, 1e-300) * sine)) - right
    left = tl.where(magnitude < 1e-19, -tl.log(magnitude), left)
    result = tl.where(wide > 0, right, tl.where(sine == 0, _INFINITY, left))
    result = tl.where((wide == 0) | isinf(wide), _INFINITY, result)
    return tl.where(wide != wide, wide, result).to(x.dtype)


@triton.jit
def _gamma_of_positive(x):
    """From 1 on."""
    small = tl.minimum(x, 12.0)
    product = tl.full(x.shape, 1.0, tl.float64) if len(x.shape) > 0 else x * 0 + 1
    for i in tl.static_range(9):
        above = small >= 3.0
        small = tl.where(above, small - 1.0, small)
        product = tl.where(above, product * small, product)
    below = small < 2.0
    near = _series(_on(tl.where(below, small + 1.0, small), 2.0, 3.0), _GAMMA)
    near = tl.where(below, near / small, near) * product
    large = tl.minimum(tl.maximum(x, 11.0), 180.0)
    # x^(x - 1 / 2) e^-x = (x / e)^(x - 1 / 2) e^(-1 / 2), the exponent as a sum: its rounding would be seen.
    power = libdevice.pow(large, 0.5 * large - 0.25)
    far = power * tl.exp(-large) * 2.5066282746310007 * tl.exp(_stirling_rest(large)) * power
    return tl.where(x < 11.5, near, far)


@triton.jit
def tgamma(x):
    wide = x.to(tl.float64)
    magnitude = tl.abs(wide)
    # Gamma(x) = Gamma(x + 1) / x; a negative number uses the reflection formula, in two steps if the result is subnormal.
    near_zero = magnitude < 1.0
    right = _gamma_of_positive(tl.where(near_zero, 1.0 + magnitude, magnitude))
    right = tl.where(near_zero, right / magnitude, right)
    half = tl.minimum(magnitude, 185.0)
    steps = tl.full(x.shape, 1.0, tl.float64) if len(x.shape) > 0 else magnitude * 0 + 1
    for i in tl.static_range(16):
        above = half > 170.0
        half = tl.where(above, half - 1.0, half)
        steps = tl.where(above, steps * half, steps)
    lowered = tl.where(near_zero, right, _gamma_of_positive(tl.maximum(half, 1.0)))
    left = -_PI / (magnitude * _sine_of_pi(magnitude)) / lowered / steps
    result = tl.where(wide > 0, right, left)
    result = tl.where(wide == 0, copysign(_INFINITY + wide, wide), result)
    pole = (wide < 0) & (libdevice.rint(wide) == wide)
    result = tl.where(pole | (wide != wide), _NAN, result)
    result = tl.where((wide < -185.0) & (pole == 0), copysign(wide * 0.0, result), result)
    return tl.where(wide == _INFINITY, wide, result).to(x.dtype)


# ---- Bessel functions


@triton.jit
def _far(x, order: tl.constexpr, is_y: tl.constexpr):
    """From 8 on: sqrt(2 / pi x) (P cos c - Q sin c), or with the sine for Y; c = x - pi / 4 - order pi / 2."""
    inverse = 8.0 / x
    at = _on(inverse * inverse, 0.0, 1.0)
    p = _series(at, _P0 if order == 0 else _P1)
    q = inverse * _series(at, _Q0 if order == 0 else _Q1)
    sine = tl.sin(x)
    cosine = tl.cos(x)
    # sqrt(2) times the cosine and the sine of c
    c = sine + cosine if order == 0 else sine - cosine
    s = sine - cosine if order == 0 else -sine - cosine
    wave = p * s + q * c if is_y else p * c - q * s
    return tl.where(x < _INFINITY, wave / (tl.sqrt(x) * _ROOT_PI), 0.0)


@triton.jit
def _bessel_j(x, order: tl.constexpr):
    """Of a positive number."""
    near = _series(_on(x * x, 0.0, 64.0), _J0 if order == 0 else _J1)
    near = near if order == 0 else near * x
    return tl.where(x < 8.0, near, _far(tl.maximum(x, 8.0), order, False))


@triton.jit
def _bessel_y(x, order: tl.constexpr):
    """Of a positive number."""
    rest = _series(_on(x * x, 0.0, 64.0), _Y0 if order == 0 else _Y1)
    j = _bessel_j(x, order)
    if order == 0:
        near = 0.6366197723675814 * tl.log(x) * j + rest
    else:
        near = 0.6366197723675814 * (tl.log(x) * j - 1.0 / x) + rest * x
    return tl.where(x < 8.0, near, _far(tl.maximum(x, 8.0), order, True))


@triton.jit
def _y_special(x, result):
    result = tl.where(x == 0, -_INFINITY, tl.where(x < 0, _NAN, result))
    return tl.where(x != x, x, result)


@triton.jit
def j0(x):
    wide = x.to(tl.float64)
    return tl.where(wide != wide, wide, _bessel_j(tl.abs(wide), 0)).to(x.dtype)


@triton.jit
def j1(x):
    wide = x.to(tl.float64)
    result = _bessel_j(tl.abs(wide), 1)
    return tl.where(wide != wide, wide, tl.where(wide < 0, -result, result)).to(x.dtype)


@triton.jit
def y0(x):
    wide = x.to(tl.float64)
    return _y_special(wide, _bessel_y(wide, 0)).to(x.dtype)


@triton.jit
def y1(x):
    wide = x.to(tl.float64)
    return _y_special(wide, _bessel_y(wide, 1)).to(x.dtype)


@triton.jit
def _max_order(n):
    """The largest element, of a scalar as well."""
    return tl.max(tl.ravel(n), 0) if len(n.shape) > 0 else n


@triton.jit
def yn(n, x):
    """Upward from Y0 and Y1."""
    wide = x.to(tl.float64)
    before = _bessel_y(wide, 0)
    last = _bessel_y(wide, 1)
    result = tl.where(n == 0, before, last)
    for k in range(1, _max_order(n)):
        next = tl.where(before == -_INFINITY, before, (2.0 * k) / wide * last - before)
        next = tl.where(last == -_INFINITY, last, next)
        before = last
        last = next
        result = tl.where(n == k + 1, last, result)
    return tl.where(n < 0, _NAN, _y_special(wide, result)).to(x.dtype)


@triton.jit
def jn(n, x):
    """Upward from J0 and J1 where n is below |x|; else downward from an order far above, in proportion, and then scaled."""
    wide = x.to(tl.float64)
    magnitude = tl.abs(wide)
    j_0 = _bessel_j(magnitude, 0)
    j_1 = _bessel_j(magnitude, 1)
    before = j_0
    last = j_1
    up = tl.where(n == 0, before, last)
    max_order = _max_order(n)
    safe = tl.where(magnitude > 0, magnitude, 1.0)
    for k in range(1, max_order):
        next = (2.0 * k) / safe * last - before
        before = last
        last = next
        up = tl.where(n == k + 1, last, up)
    above = tl.zeros_like(wide)
    this = above + 1e-200
    down = above
    for i in range(max_order + 60 + max_order // 4):
        k = max_order + 60 + max_order // 4 - i
        # Not so large that it overflows: all are scaled down together.
        huge = tl.abs(this) > 1e150
        factor = tl.where(huge, 1e-300, 1.0)
        next = tl.minimum((2.0 * k) / safe, 1e140) * (this * factor) - above * factor
        above = this * factor
        down = down * factor
        this = next
        down = tl.where(n == k - 1, this, down)
    scale = tl.where(tl.abs(j_0) > tl.abs(j_1), j_0 / this, j_1 / above)
    result = tl.where(n.to(tl.float64) < magnitude, up, down * scale)
    result = tl.where(n == 0, j_0, tl.where(n == 1, j_1, result))
    result = tl.where(magnitude == 0, tl.where(n == 0, 1.0, 0.0), tl.where(isinf(wide), 0.0, result))
    result = tl.where((wide < 0) & ((n & 1) == 1), -result, result)
    return tl.where(n < 0, _NAN, tl.where(wide != wide, wide, result)).to(x.dtype)


@triton.jit
def _bessel_i(x, order: tl.constexpr):
    """Of a positive number."""
    near = _series(_on(x, 0.0, 8.0), _I0 if order == 0 else _I1)
    near = near if order == 0 else near * x
    large = tl.minimum(tl.maximum(x, 8.0), 1000.0)
    far = _series(_on(8.0 / large, 0.0, 1.0), _I0_FAR if order == 0 else _I1_FAR) / tl.sqrt(large)
    # In two factors: the power overflows before the product does.
    half = tl.exp(0.5 * tl.minimum(x, 1000.0))
    return tl.where(x < 8.0, near, far) * half * half


@triton.jit
def cyl_bessel_i0(x):
    wide = x.to(tl.float64)
    return tl.where(wide != wide, wide, _bessel_i(tl.abs(wide), 0)).to(x.dtype)


@triton.jit
def cyl_bessel_i1(x):
    wide = x.to(tl.float64)
    result = _bessel_i(tl.abs(wide), 1)
    return tl.where(wide != wide, wide, tl.where(wide < 0, -result, result)).to(x.dtype)
