"""Closed-class words and a few open-class lists: what the word-order rules recognise.

The lists are of this project's own making. Order carries no meaning; every entry is lower case.
"""

ARTICLES = frozenset({"a", "an", "the"})

DETERMINERS = ARTICLES | frozenset(
    """this that these those each every either neither some any no all both many much few several
    most more less another other such my your his her its our their whose little enough half
    various certain numerous""".split()
)

# Determiners that can also stand alone as a subject: "some contain", "this causes".
STANDALONE = frozenset(
    """this that these those some any all both many much few several most each either neither
    more less others another such none one""".split()
)

SUBJECT_PRONOUNS = frozenset({"it", "they", "he", "she", "we", "you", "i", "this", "these"})
RESOLVABLE = frozenset({"it", "they", "he", "she", "this", "these"})
POSSESSIVES = frozenset({"its", "his", "her", "their"})
PRONOUNS = frozenset(
    """i you he she it we they me him us them itself himself herself themselves yourself ourselves
    something anything nothing everything someone anyone everyone nobody""".split()
)

PREPOSITIONS = frozenset(
    """about above across after against along alongside amid among amongst around as at before
    behind below beneath beside besides between beyond by despite during except excluding following
    for from in including inside into like near of off on onto opposite out outside over past per
    regarding using since than through throughout toward towards under underneath unlike until till up
    upon versus via with within without concerning aboard""".split()
)

# Open a clause when a finite verb with a subject follows, else they are prepositions.
CLAUSE_OR_PREPOSITION = frozenset({"after", "as", "before", "since", "until", "till", "than"})
SUBORDINATORS = frozenset(
    """if when because although though whereas while unless whenever once wherever lest how why
    whether""".split()
)
# What such a clause says is itself asserted; after "if", "unless", "when" it is a condition.
ASSERTING = frozenset({"because", "since", "although", "though", "whereas", "while"})

RELATIVES = frozenset({"which", "who", "whom", "that", "whose", "where"})
CONJUNCTIONS = frozenset({"and", "or", "but", "nor", "yet", "&"})
NEGATIONS = frozenset({"not", "never", "n't", "cannot"})
QUESTION_WORDS = frozenset({"what", "which", "who", "whom", "whose", "where", "when", "why", "how"})

MODALS = frozenset({"can", "could", "may", "might", "must", "shall", "should", "will", "would"})
BE = frozenset({"is", "are", "was", "were", "am", "be", "been", "being", "'re", "'m"})
FINITE_BE = frozenset({"is", "are", "was", "were", "am", "'re", "'m"})
HAVE = frozenset({"has", "have", "had"})
DO = frozenset({"does", "do", "did"})
NEGATED_AUXILIARIES = frozenset(
    """isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't can't couldn't won't
    wouldn't shouldn't mustn't mightn't cannot""".split()
)

ADVERBS = frozenset(
    """also always almost already again alone often sometimes usually generally commonly typically
    mostly mainly largely partly partially widely very quite rather too so just only even still
    then thus therefore hence however now once twice here there soon later earlier ago far away
    together apart forward back up down out off over perhaps maybe instead otherwise either
    originally formerly currently well simply especially particularly primarily nearly
    approximately about increasingly constantly directly rarely seldom ever yet else further
    furthermore moreover meanwhile likewise nevertheless somewhat altogether fast""".split()
)
# Words in -ly that are not adverbs.
NOT_ADVERBS = frozenset(
    """family fly only early daily weekly monthly yearly assembly supply reply apply multiply rely
    imply comply belly jelly butterfly italy july ally anomaly friendly lonely lovely ugly holy
    elderly likely unlikely deadly costly melancholy monopoly homily lily bully rally tally""".split()
)
DISCOURSE = frozenset(
    """however therefore moreover furthermore thus hence additionally also then consequently
    similarly finally instead nevertheless meanwhile indeed generally typically usually first
    second third lastly overall besides so and but or yet""".split()
)

PARTICLES = frozenset({"up", "down", "out", "off", "away", "apart", "together", "back", "forward"})

ADJECTIVES = frozenset(
    """able active adult aware bad basic better big black blue bright broad brown careful cheap
    clean clear close cold common complete complex cool correct dark dead deep dense different
    difficult dry dull early easy empty equal even external extinct fast fat few final fine firm
    first fit flat free fresh full good great green grey hard healthy heavy high hot huge human
    ill important independent internal large last late light likely liquid little live living long
    loose loud low main major mature minor modern moist narrow natural necessary new next normal
    old open opposite ordinary other own plain poor present prone public pure quick quiet rapid
    rare raw ready real red rich right rough round safe same second secure sensitive separate
    severe shallow sharp short sick significant similar simple single skinny slow small smart
    smooth soft solid special specific stable steady steep sticky stiff straight strong sudden
    sweet tall thick thin third tight tiny tough true unable unique unlikely upper useful usual
    vast visible warm weak wet white whole wide wild wrong yellow young necessary due famous known
    native worth available responsible essential vital crucial synonymous adjacent capable
    """.split()
)
ADJECTIVE_ENDINGS = ("ous", "ful", "less", "able", "ible", "ical", "ish", "ary", "ic", "ive", "al")
NOT_ADJECTIVES = frozenset(
    """animal mammal metal mineral chemical signal material crystal hospital capital festival
    journal canal coral petal arrival survival proposal principal interval individual total music
    topic fabric plastic traffic logic public critic clinic picnic panic attic garlic vehicle
    olive native detective motive hive drive five archive narrative vegetable cable table variable
    fish dish goal meal deal seal coal dial trial vial terminal pedal rental library diary salary
    boundary january february summary dictionary secretary""".split()
)

# Heads that say little without what follows "of": "a kind of X", "the number of X".
LIGHT_HEADS = frozenset(
    """kind kinds type types sort sorts part parts form forms example examples amount number most
    all some many one lot lots group set pair majority variety rest each any none half piece pieces
    series way source member members bit range couple""".split()
)

MONTHS = frozenset(
    """january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec""".split()
)

ABBREVIATIONS = frozenset(
    """mr mrs ms dr prof st jr sr vs etc inc ltd co corp dept fig no vol pp approx ca cf al gen
    col sgt capt lt rev hon mt ft gov sen rep e.g i.e u.s u.k a.m p.m jan feb mar apr jun jul aug
    sep sept oct nov dec""".split()
)

PLURAL_WITHOUT_S = frozenset(
    """people children men women mice geese feet teeth bacteria fungi algae larvae species fish
    deer sheep cattle police data phenomena criteria nuclei cilia protozoa media oxen both they
    we you these those some many several few most all""".split()
)
SINGULAR_WITH_S = frozenset(
    """gas lens species series news mathematics physics economics basis analysis glass process
    virus diabetes photosynthesis mitosis meiosis osmosis bus fungus nucleus mars venus its this
    is was has thus always politics cactus octopus iris axis uterus pancreas atlas canvas
    tuberculosis texas paris moss grass mass class""".split()
)

FUNCTION_WORDS = (
    DETERMINERS
    | PRONOUNS
    | PREPOSITIONS
    | SUBORDINATORS
    | RELATIVES
    | CONJUNCTIONS
    | NEGATIONS
    | QUESTION_WORDS
    | MODALS
    | BE
    | HAVE
    | DO
    | frozenset({"to", "'s", "’s", "there", "then", "than", "also", "very", "so", "just", "too"})
)
